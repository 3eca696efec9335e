// The lecture's steps: what each shows, in words, as an equation, and with the numbers of the cell that is looked at.
//
// matrices  [box, value, name here]; the last one is what the step makes: its cells are explained
// numbers   (m, row, column, head) → text; m.Q is the matrix Q of that head. null: what the server says of the box
// start     [row, column, head] that is explained first

import { added, cutOff, dot, mapped, mixed, normed, scaled, sinusoid, softmax, surprise } from "./lecture_numbers.js";

const E = "encoder.blocks.0";
const D = "decoder.blocks.0";
const linear = (x, w, made, bias = null) => (m, row, column) => (m[w] ? mapped(m[x], row, m[w], column, m[bias] ?? null, m[made].at(row, column)) : null);
const sum = (m, row, column) => added(m.x.at(row, column), m.y.at(row, column), m.s.at(row, column));
const norm = (m, row, column) => normed(m.x.at(row, column), m["μ"].at(row, 0), m["σ"].at(row, 0), m.g ? m.g.at(0, column) : null, m.b ? m.b.at(0, column) : null, m.y.at(row, column));
const normMatrices = (box) => ["x", "μ", "σ", "g", "b", "y"].map((value) => [box, value]);

export const STEPS = [
  {
    name: "words", title: "Words become numbers", part: "source",
    text: ["A model computes with numbers only. The vocabulary is a list of all words it knows, 11 here with its special marks; each word is replaced by its place in that list. A mark at the end says that the sentence is over."],
    symbols: "word → its number in the vocabulary", matrices: [["source.tokens", "i"]], start: [0, 0, 0],
    numbers: (m, row) => `place ${row + 1} holds number ${m.i.at(row, 0)}`,
  },
  {
    name: "embedding", title: "Embedding: a vector for each word", part: "source",
    text: ["The number of a word says nothing about it: 7 is not more than 5. So each word has a row of six numbers in a table that was learnt, its embedding. Words that behave alike get rows that are alike.", "The rows below are those of this sentence, as the model scales them."],
    symbols: "xᵢ = row of the table for word i", matrices: [["source.embedding", "E"]], start: [0, 0, 0],
    numbers: (m, row) => `(${Array.from({ length: m.E.columns }, (_, c) => m.E.at(row, c).toFixed(2)).join(", ").replaceAll("-", "−")})`,
  },
  {
    name: "positions", title: "Positions: where a word stands", part: "source",
    text: ["Attention treats its input as a set: shuffle the words, and it would find the same. So each place gets a vector of its own, made of sines and cosines that turn at different speeds: the first two columns quickly, the last two hardly at all."],
    symbols: "P[t, 2i] = sin(t / 10000^(2i/6))\nP[t, 2i+1] = cos(t / 10000^(2i/6))", matrices: [["source.positions", "P"]], start: [1, 0, 0],
    numbers: (m, row, column) => sinusoid(row, column, m.P.columns, 10000, m.P.at(row, column)),
  },
  {
    name: "input", title: "Word plus place", part: "source",
    text: ["Both vectors are added, number by number. The sum says what stands there and where. This is all that the first layer sees."],
    symbols: "x = E + P", matrices: [["source.sum", "x"], ["source.sum", "y"], ["source.sum", "s"]], start: [0, 0, 0], numbers: sum,
  },
  {
    name: "queries", title: "Queries, keys, values", part: "encoder",
    text: ["Each word plays three parts. As a query it asks for something; as a key it says what it has to offer; as a value it is what is handed over. Three learnt matrices make the three of the same vector.", "There are two heads: two sets of such matrices, each making vectors of width 3. Choose a head above the matrices."],
    symbols: "q = x W_Q\nk = x W_K\nv = x W_V", matrices: [["source.sum", "s"], [`${E}.mixer.q`, "W"], [`${E}.mixer.k`, "K"], [`${E}.mixer.v`, "V"], [`${E}.mixer.q`, "Q"]], start: [0, 0, 0],
    numbers: linear("s", "W", "Q", "b"),
  },
  {
    name: "scores", title: "Scores: how well they match", part: "encoder",
    text: ["Each query is compared with each key by their dot product: multiply number by number, and add up. Vectors that point the same way give a large score; those at right angles give 0."],
    symbols: "qᵢ · kⱼ = Σ qᵢₙ kⱼₙ", matrices: [[`${E}.mixer.q`, "Q"], [`${E}.mixer.k`, "K"], [`${E}.mixer.scores`, "S"]], start: [0, 1, 0],
    numbers: (m, row, column) => `${dot(m.Q, row, m.K, column)}, and after scaling, which comes next, ${m.S.at(row, column).toFixed(2).replace("-", "−")}`,
  },
  {
    name: "scaling", title: "Scaling: not too sure", part: "encoder",
    text: ["A sum of many products gets large where vectors are wide, and then the softmax that follows would put everything on one word and learn no more. So scores are divided by the root of the width of a head, here √3."],
    symbols: "S = Q K^T / √3", matrices: [[`${E}.mixer.q`, "Q"], [`${E}.mixer.k`, "K"], [`${E}.mixer.scores`, "S"]], start: [0, 1, 0],
    numbers: (m, row, column) => scaled(m.Q, row, m.K, column, m.S.at(row, column)),
  },
  {
    name: "softmax", title: "Softmax: scores become weights", part: "encoder",
    text: ["Each row becomes shares of attention: e to the power of each score, divided by the sum of the row. All are above 0, each row sums to 1, and differences are stressed."],
    symbols: "Aᵢⱼ = e^Sᵢⱼ / Σₙ e^Sᵢₙ", matrices: [[`${E}.mixer.scores`, "S"], [`${E}.mixer.weights`, "A"]], start: [0, 1, 0], weights: true,
    numbers: (m, row, column) => softmax(m.S, row, column, m.A.at(row, column)),
  },
  {
    name: "sum", title: "The weighted sum", part: "encoder",
    text: ["Each word now collects the values of all words, as much of each as its weights say. It is a lookup that is never quite sure: a table would return one value, attention returns a mix of all."],
    symbols: "Z = A V", matrices: [[`${E}.mixer.weights`, "A"], [`${E}.mixer.v`, "V"], [`${E}.mixer.heads`, "Z"]], start: [0, 0, 0],
    numbers: (m, row, column) => mixed(m.A, row, m.V, column, m.Z.at(row, column)),
  },
  {
    name: "heads", title: "Two heads, put together", part: "encoder",
    text: ["Both heads did this at the same time, each with its own questions. What they found is put side by side, 3 + 3 = 6 numbers, and a last matrix mixes it. As wide as what went in: so layers can be stacked, and what went in can be added."],
    symbols: "y = [Z₁ ; Z₂] W_O", matrices: [[`${E}.mixer.heads`, "C"], [`${E}.mixer`, "W"], [`${E}.mixer`, "Y"]], start: [0, 0, 0], numbers: linear("C", "W", "Y"),
  },
  {
    name: "add", title: "Add: the way around", part: "encoder",
    text: ["What went in is added to what came out: a residual connection. The layer only has to learn what to change, and in training the gradient finds a straight way down through many layers."],
    symbols: "s = x + attention(x)", matrices: [[`${E}.around_mixer.sum`, "x"], [`${E}.around_mixer.sum`, "y"], [`${E}.around_mixer.sum`, "s"]], start: [0, 0, 0], numbers: sum,
  },
  {
    name: "norm", title: "Norm: to a common size", part: "encoder",
    text: ["Each row is shifted to the mean 0 and scaled to the deviation 1; then a gain and a bias that were learnt, one for each of the six features, may change that again. No layer has to care how large the numbers of the one before grew."],
    symbols: "y = g · (s − μ) / σ + b", matrices: normMatrices(`${E}.around_mixer.norm_sum`), start: [0, 0, 0], numbers: norm,
  },
  {
    name: "hidden", title: "Feed-forward: wider, then bent", part: "encoder",
    text: ["Attention only averages. So that the model can compute something new at each place, each vector by itself goes through a small network: first made twelve wide, then all that is below 0 is set to 0 (ReLU)."],
    symbols: "a = ReLU(x W₁ + b₁)", matrices: [[`${E}.feed_forward.hidden`, "x"], [`${E}.feed_forward.hidden`, "W"], [`${E}.feed_forward.hidden`, "b"], [`${E}.feed_forward.hidden`, "h"], [`${E}.feed_forward.active`, "a"]], start: [0, 1, 0],
    numbers: (m, row, column) => `${mapped(m.x, row, m.W, column, m.b ?? null, m.h.at(row, column))}\n${cutOff(m.h.at(row, column), m.a.at(row, column))}`,
  },
  {
    name: "narrow", title: "Feed-forward: back to six", part: "encoder",
    text: ["A second matrix brings the twelve numbers back to six, so that again what went in can be added."],
    symbols: "y = a W₂ + b₂", matrices: [[`${E}.feed_forward.active`, "a"], [`${E}.feed_forward`, "W"], [`${E}.feed_forward`, "b"], [`${E}.feed_forward`, "y"]], start: [0, 0, 0], numbers: linear("a", "W", "y", "b"),
  },
  {
    name: "memory", title: "The source, read", part: "encoder",
    text: ["Add and norm once more, and the encoder is done. Each row now stands for a word in this sentence: “black” beside “cat” is another vector than “black” beside “dog”. A large model does all this six or a hundred times over. The decoder looks at these rows while it writes."],
    symbols: "m = norm(x + feed-forward(x))", matrices: normMatrices(`${E}.around_feed_forward.norm_sum`), start: [0, 0, 0], numbers: norm,
  },
  {
    name: "target", title: "The decoder reads what is written", part: "target",
    text: ["The other side writes. It reads what it has written so far, beginning with a mark for the start, and at each place is to say what comes next. In training the right answer is given, moved by one place: so all places are learnt at once. Again embedding plus positions."],
    symbols: "x = E′ + P", matrices: [["target.sum", "x"], ["target.sum", "y"], ["target.sum", "s"]], start: [0, 0, 0], numbers: sum,
  },
  {
    name: "mask", title: "Mask: no looking ahead", part: "decoder",
    text: ["When it writes, the next word is not there yet; so in training it must not be seen either. Scores of all that comes later are set to minus infinity."],
    symbols: "Mᵢⱼ = Sᵢⱼ for j ≤ i, else −∞", matrices: [[`${D}.mixer.scores`, "S"], [`${D}.mixer.mask`, "M"]], start: [0, 1, 0],
    numbers: (m, row, column) => (column > row ? `place ${column + 1} comes after place ${row + 1}: −∞ instead of ${m.S.at(row, column).toFixed(2).replace("-", "−")}` : `place ${column + 1} is there already: ${m.M.at(row, column).toFixed(2).replace("-", "−")} stays`),
  },
  {
    name: "masked", title: "Masked weights", part: "decoder",
    text: ["e to the power of minus infinity is 0: what is hidden gets no weight, and the rest of the row still sums to 1. The first place can only look at itself."],
    symbols: "A = softmax(M)", matrices: [[`${D}.mixer.mask`, "M"], [`${D}.mixer.weights`, "A"]], start: [1, 0, 0], weights: true,
    numbers: (m, row, column) => softmax(m.M, row, column, m.A.at(row, column)),
  },
  {
    name: "cross", title: "Cross-attention: looking at the source", part: "decoder",
    text: ["Now the decoder asks the encoder. Queries come from what is written, keys and values from the source as it was read. Columns are the words of the source; rows are the places of the answer as the decoder reads them, so that the row of the start mark writes the first word, and the row of the first word writes the second. French puts the adjective behind the noun: look which English word each row looks at."],
    symbols: "A = softmax(Q K_source^T / √3)", matrices: [[`${D}.cross.q`, "Q"], [`${D}.cross.k`, "K"], [`${D}.cross.scores`, "S"], [`${D}.cross.weights`, "A"]], start: [0, 1, 0], weights: true,
    numbers: (m, row, column) => `${scaled(m.Q, row, m.K, column, m.S.at(row, column))}\n${softmax(m.S, row, column, m.A.at(row, column))}`,
  },
  {
    name: "read", title: "What it reads there", part: "decoder",
    text: ["As before, values are collected by these weights, the heads put together, added and normed. This is how the source gets into the answer: there is no other way."],
    symbols: "Z = A V_source", matrices: [[`${D}.cross.weights`, "A"], [`${D}.cross.v`, "V"], [`${D}.cross.heads`, "Z"]], start: [0, 0, 0],
    numbers: (m, row, column) => mixed(m.A, row, m.V, column, m.Z.at(row, column)),
  },
  {
    name: "last", title: "The last vectors", part: "decoder",
    text: ["The decoder’s own feed-forward layer, add and norm. What comes out has six numbers for each place, and in them what should come next."],
    symbols: "y = norm(x + feed-forward(x))", matrices: normMatrices(`${D}.around_feed_forward.norm_sum`), start: [0, 0, 0], numbers: norm,
  },
  {
    name: "logits", title: "Logits: a score for every word", part: "output",
    text: ["A last matrix compares each vector with every word of the vocabulary. The scores are called logits; they can be any numbers."],
    symbols: "z = y W + b", matrices: [["head", "x"], ["head", "W"], ["head", "b"], ["head", "z"]], start: [0, 4, 0], numbers: linear("x", "W", "z", "b"),
  },
  {
    name: "chances", title: "Softmax: probabilities", part: "output",
    text: ["The same softmax as before makes probabilities of them. To write, take the likeliest word, or draw one, put it behind what is written, and begin again: that is all there is to generation. The beam view shows how several beginnings are followed at once."],
    symbols: "p = softmax(z)", matrices: [["head", "z"], ["head.probabilities", "p"]], start: [0, 4, 0], weights: true,
    numbers: (m, row, column) => softmax(m.z, row, column, m.p.at(row, column)),
  },
  {
    name: "loss", title: "Loss: how surprised it is", part: "output",
    text: ["In training the right words are known. The loss is minus the logarithm of the probability that the right word got: 0 if it was certain, large if it was unlikely. Its gradient goes back through every step of this walk and changes each learnt number a little. Some thousand sentences later the model is what you saw."],
    symbols: "L = −log p(right word)", matrices: [["head.probabilities", "p"], ["head.loss", "L"]], start: [0, 0, 0],
    numbers: (m, row) => surprise(Math.exp(-m.L.at(row, 0)), m.L.at(row, 0)),
  },
];
