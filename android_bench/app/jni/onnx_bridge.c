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
static const char *const OUTPUT_NAMES[1] = {"logits"};

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

JNIEXPORT jstring JNICALL Java_mobilebert_bench_app_OnnxBridge_version(JNIEnv *env, jclass type) {
  (void)type;
  return (*env)->NewStringUTF(env, OrtGetApiBase()->GetVersionString());
}

JNIEXPORT jlong JNICALL Java_mobilebert_bench_app_OnnxBridge_open(JNIEnv *env, jclass type, jstring path,
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

/* Copies the output, which must have as many values as the array. */
static void copy_logits(JNIEnv *env, OrtValue *output, jfloatArray logits) {
  const char *broken = "java/lang/IllegalStateException";
  OrtTensorTypeAndShapeInfo *shape = NULL;
  size_t count = 0;
  float *values = NULL;
  if (failed(env, broken, ort->GetTensorTypeAndShape(output, &shape))) {
    return;
  }
  int bad = failed(env, broken, ort->GetTensorShapeElementCount(shape, &count));
  ort->ReleaseTensorTypeAndShapeInfo(shape);
  if (!bad && count != (size_t)(*env)->GetArrayLength(env, logits)) {
    bad = failed(env, broken, ort->CreateStatus(ORT_INVALID_ARGUMENT, "the model has another number of labels"));
  }
  if (!bad && !failed(env, broken, ort->GetTensorMutableData(output, (void **)&values))) {
    (*env)->SetFloatArrayRegion(env, logits, 0, (jsize)count, values);
  }
}

JNIEXPORT void JNICALL Java_mobilebert_bench_app_OnnxBridge_run(JNIEnv *env, jclass type, jlong session,
                                                               jintArray ids, jintArray mask, jintArray types,
                                                               jfloatArray logits) {
  const char *broken = "java/lang/IllegalStateException";
  const jintArray rows[INPUTS] = {ids, mask, types};
  jint *elements[INPUTS] = {NULL, NULL, NULL};
  OrtValue *tensors[INPUTS] = {NULL, NULL, NULL};
  OrtValue *output = NULL;
  int bad = 0;
  (void)type;
  for (int i = 0; i < INPUTS && !bad; i++) {
    const int64_t shape[2] = {1, (*env)->GetArrayLength(env, rows[i])};
    elements[i] = (*env)->GetIntArrayElements(env, rows[i], NULL);
    bad = elements[i] == NULL || /* out of memory, thrown already */
          failed(env, broken,
                 ort->CreateTensorWithDataAsOrtValue(cpu_memory, elements[i], (size_t)shape[1] * sizeof(jint), shape,
                                                     2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, &tensors[i]));
  }
  if (!bad && !failed(env, broken,
                      ort->Run((OrtSession *)(intptr_t)session, NULL, INPUT_NAMES, (const OrtValue *const *)tensors,
                               INPUTS, OUTPUT_NAMES, 1, &output))) {
    copy_logits(env, output, logits);
    ort->ReleaseValue(output);
  }
  for (int i = 0; i < INPUTS; i++) {
    if (tensors[i] != NULL) {
      ort->ReleaseValue(tensors[i]);
    }
    if (elements[i] != NULL) {
      (*env)->ReleaseIntArrayElements(env, rows[i], elements[i], JNI_ABORT); /* read only: nothing to copy back */
    }
  }
}

JNIEXPORT void JNICALL Java_mobilebert_bench_app_OnnxBridge_release(JNIEnv *env, jclass type, jlong session) {
  (void)env;
  (void)type;
  ort->ReleaseSession((OrtSession *)(intptr_t)session);
}
