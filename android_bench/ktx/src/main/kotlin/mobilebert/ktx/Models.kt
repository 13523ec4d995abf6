package mobilebert.ktx

import android.content.Context
import mobilebert.runtime.Embedder
import mobilebert.runtime.Hit
import mobilebert.runtime.LabelScore
import mobilebert.runtime.LabelledSpan
import mobilebert.runtime.Matcher
import mobilebert.runtime.ModelOptions
import mobilebert.runtime.QuestionAnswerer
import mobilebert.runtime.TextClassifier
import mobilebert.runtime.TokenClassifier

/** Opens a matcher from an artefact folder of the app's assets. Close it, as with `use`. */
public suspend fun loadMatcher(context: Context, artefact: String, options: ModelOptions = ModelOptions()): Matcher =
    inference { Matcher.load(context, artefact, options) }

/** Opens an embedder from an artefact folder of the app's assets. Close it, as with `use`. */
public suspend fun loadEmbedder(context: Context, artefact: String, options: ModelOptions = ModelOptions()): Embedder =
    inference { Embedder.load(context, artefact, options) }

/** Score, label, and how it was run. */
public suspend fun Matcher.awaitMatch(textA: String, textB: String): Matcher.Answer = inference { match(textA, textB) }

/** The texts that match the query best, best first. */
public suspend fun Matcher.awaitRank(query: String, texts: List<String>, most: Int = texts.size.coerceAtLeast(1)): List<Hit> =
    inference { rank(query, texts, most, it) }

/** The vector of a text. */
public suspend fun Embedder.awaitEmbed(text: String): FloatArray = inference { embed(text) }

/** Cosine of the angle between two texts' vectors, from -1 to 1. */
public suspend fun Embedder.awaitSimilarity(textA: String, textB: String): Float = inference { similarity(textA, textB) }

/** The labels of a text, or of a pair, with their scores, as [TextClassifier.classify] orders them. */
public suspend fun TextClassifier.awaitClassify(text: String, second: String? = null): List<LabelScore> =
    inference { classify(text, second) }

/** Neighbouring tokens of one label as one part. */
public suspend fun TokenClassifier.awaitEntities(text: String): List<LabelledSpan> = inference { entities(text) }

/** The best answers that a context holds, the best first. */
public suspend fun QuestionAnswerer.awaitAnswers(
    question: String,
    context: String,
    most: Int = 1,
    longest: Int = QuestionAnswerer.LONGEST_ANSWER,
    mayBeNone: Boolean = false,
): List<QuestionAnswerer.Answer> = inference { answers(question, context, most, longest, mayBeNone, it) }
