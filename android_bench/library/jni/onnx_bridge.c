/*
 * ONNX Runtime's C interface for the Java class OnnxBridge.
 *
 * Uses the Java virtual machine's functions and ONNX Runtime's, and not one of the C library: so it is built
 * without Android's NDK, and its only open symbol is OrtGetApiBase.
 */
#include <jni.h>
#include <onnxruntime_c_api.h>

/* ONNX Runtime 1.17, the oldest that our artefacts run in; every later one still hands out this table. */
#define API_VERSION 17
#define INPUTS 3

static const char *const INPUT_NAMES[INPUTS] = {"input_ids", "attention_mask", "token_type_ids"};
#define MOST_OUTPUTS 2

/* Of the whole process, made when the library is loaded. */
static const OrtApi *ort;
static OrtEnv *environment;
static OrtMemoryInfo *cpu_memory;

/* Throws a Java exception with the runtime's words if the status is an error; whether it was one. */
static int failed(JNIEnv *env, const char *exception, OrtStatus *status) {
  if (status == NULL) {
    return 0;
  }
  jclass type = (*env)->FindClass(env, exception);
  if (type != NULL) { /* otherwise the machine has thrown already */
    (*env)->ThrowNew(env, type, ort->GetErrorMessage(status));
  }
  ort->ReleaseStatus(status);
  return 1;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *machine, void *reserved) {
  JNIEnv *env = NULL;
  (void)reserved;
  if ((*machine)->GetEnv(machine, (void **)&env, JNI_VERSION_1_6) != JNI_OK) {
    return JNI_ERR;
  }
  ort = OrtGetApiBase()->GetApi(API_VERSION);
  if (ort == NULL) {
    return JNI_ERR;
  }
  const char *linkage = "java/lang/UnsatisfiedLinkError";
  if (failed(env, linkage, ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "mobilebert", &environment)) ||
      failed(env, linkage, ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu_memory))) {
    return JNI_ERR;
  }
  return JNI_VERSION_1_6;
}

JNIEXPORT jstring JNICALL Java_mobilebert_runtime_OnnxBridge_version(JNIEnv *env, jclass type) {
  (void)type;
  return (*env)->NewStringUTF(env, OrtGetApiBase()->GetVersionString());
}

JNIEXPORT jlong JNICALL Java_mobilebert_runtime_OnnxBridge_open(JNIEnv *env, jclass type, jstring path,
                                                                 jint threads) {
  const char *refused = "java/io/IOException";
  OrtSessionOptions *options = NULL;
  OrtSession *session = NULL;
  (void)type;
  if (failed(env, refused, ort->CreateSessionOptions(&options))) {
    return 0;
  }
  const char *file = (*env)->GetStringUTFChars(env, path, NULL);
  if (file != NULL && !failed(env, refused, ort->SetIntraOpNumThreads(options, threads)) &&
      !failed(env, refused, ort->SetInterOpNumThreads(options, 1))) {
    failed(env, refused, ort->CreateSession(environment, file, options, &session));
  }
  if (file != NULL) {
    (*env)->ReleaseStringUTFChars(env, path, file);
  }
  ort->ReleaseSessionOptions(options);
  return (jlong)(intptr_t)session;
}

/* Copies an output, which must have as many values as the array. */
static void copy_values(JNIEnv *env, OrtValue *output, jfloatArray row) {
  const char *broken = "java/lang/IllegalStateException";
  OrtTensorTypeAndShapeInfo *shape = NULL;
  size_t count = 0;
  float *values = NULL;
  if (failed(env, broken, ort->GetTensorTypeAndShape(output, &shape))) {
    return;
  }
  int bad = failed(env, broken, ort->GetTensorShapeElementCount(shape, &count));
  ort->ReleaseTensorTypeAndShapeInfo(shape);
  if (!bad && count != (size_t)(*env)->GetArrayLength(env, row)) {
    bad = failed(env, broken, ort->CreateStatus(ORT_INVALID_ARGUMENT, "the model's answer has another shape"));
  }
  if (!bad && !failed(env, broken, ort->GetTensorMutableData(output, (void **)&values))) {
    (*env)->SetFloatArrayRegion(env, row, 0, (jsize)count, values);
  }
}

/* Runs encoded rows; whether the runtime refused, an exception being thrown then. */
static int run_session(JNIEnv *env, OrtSession *session, OrtValue *const *tensors, size_t inputs, jobjectArray names,
                       jsize outputs, OrtValue **values) {
  const char *broken = "java/lang/IllegalStateException";
  const char *asked[MOST_OUTPUTS] = {NULL, NULL};
  jstring held[MOST_OUTPUTS] = {NULL, NULL};
  int bad = 0;
  for (jsize i = 0; i < outputs && !bad; i++) {
    held[i] = (jstring)(*env)->GetObjectArrayElement(env, names, i);
    asked[i] = (*env)->GetStringUTFChars(env, held[i], NULL);
    bad = asked[i] == NULL; /* out of memory, thrown already */
  }
  bad = bad || failed(env, broken,
                      ort->Run(session, NULL, INPUT_NAMES, (const OrtValue *const *)tensors, inputs, asked,
                               (size_t)outputs, values));
  for (jsize i = 0; i < outputs; i++) {
    if (asked[i] != NULL) {
      (*env)->ReleaseStringUTFChars(env, held[i], asked[i]);
    }
  }
  return bad;
}

JNIEXPORT void JNICALL Java_mobilebert_runtime_OnnxBridge_run(JNIEnv *env, jclass type, jlong session, jintArray ids,
                                                             jintArray mask, jintArray types, jobjectArray names,
                                                             jobjectArray rows) {
  const char *broken = "java/lang/IllegalStateException";
  const jintArray arrays[INPUTS] = {ids, mask, types};
  const size_t inputs = types == NULL ? INPUTS - 1 : INPUTS;
  jint *elements[INPUTS] = {NULL, NULL, NULL};
  OrtValue *tensors[INPUTS] = {NULL, NULL, NULL};
  OrtValue *outputs[MOST_OUTPUTS] = {NULL, NULL};
  jsize asked = (*env)->GetArrayLength(env, names);
  int bad = 0;
  (void)type;
  if (asked > MOST_OUTPUTS) {
    failed(env, broken, ort->CreateStatus(ORT_INVALID_ARGUMENT, "too many outputs"));
    return;
  }
  for (size_t i = 0; i < inputs && !bad; i++) {
    const int64_t shape[2] = {1, (*env)->GetArrayLength(env, arrays[i])};
    elements[i] = (*env)->GetIntArrayElements(env, arrays[i], NULL);
    bad = elements[i] == NULL || /* out of memory, thrown already */
          failed(env, broken,
                 ort->CreateTensorWithDataAsOrtValue(cpu_memory, elements[i], (size_t)shape[1] * sizeof(jint), shape,
                                                     2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, &tensors[i]));
  }
  bad = bad || run_session(env, (OrtSession *)(intptr_t)session, tensors, inputs, names, asked, outputs);
  for (jsize i = 0; i < asked && outputs[i] != NULL; i++) {
    if (!bad) {
      copy_values(env, outputs[i], (jfloatArray)(*env)->GetObjectArrayElement(env, rows, i));
      bad = (*env)->ExceptionCheck(env);
    }
    ort->ReleaseValue(outputs[i]);
  }
  for (size_t i = 0; i < inputs; i++) {
    if (tensors[i] != NULL) {
      ort->ReleaseValue(tensors[i]);
    }
    if (elements[i] != NULL) {
      (*env)->ReleaseIntArrayElements(env, arrays[i], elements[i], JNI_ABORT); /* read only: nothing to copy back */
    }
  }
}

JNIEXPORT void JNICALL Java_mobilebert_runtime_OnnxBridge_release(JNIEnv *env, jclass type, jlong session) {
  (void)env;
  (void)type;
  ort->ReleaseSession((OrtSession *)(intptr_t)session);
}
