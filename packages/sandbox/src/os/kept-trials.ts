import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '@bulkhead/kit/folders'
import { canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { readPrivateFile, writePrivateFile } from '@bulkhead/kit/private-file'
import { thisMachine } from '@bulkhead/kit/this-machine'

const FILE = 'trials.json'
/** Another version may try more. */
const OWN_CODE = fileURLToPath(import.meta.url)

/**
 * What trials showed on this machine, until it starts again or one of its parts changes. A trial starts a whole Node. An
 * answer is a guess: the first process that relies on it must show that its walls stand, or the trials are made again.
 */
export class KeptTrials {
  readonly #folder: string | undefined
  readonly #machine: string | undefined
  /** Of an earlier process. */
  readonly #kept: JsonObject
  #answers: JsonObject = {}
  #wasUsed = false
  #hasAsked = false

  readonly #onAsk: (() => void) | undefined

  /** Without a folder nothing is kept. `isFresh`: nothing that was kept counts. `onAsk`: called before each trial. */
  constructor(folder: string | undefined, isFresh = false, onAsk?: () => void) {
    this.#folder = folder
    this.#onAsk = onAsk
    this.#machine = folder === undefined ? undefined : thisMachine([OWN_CODE])
    this.#kept = folder === undefined || isFresh ? {} : readAnswers(join(folder, FILE), this.#machine)
  }

  /** Whether an answer came from an earlier process. */
  get wasUsed(): boolean {
    return this.#wasUsed
  }

  /** Whether some answers came from an earlier process, and others did not. */
  get isMixed(): boolean {
    return this.#wasUsed && this.#hasAsked
  }

  /**
   * The answer of an earlier process, or that of `ask`. It is kept unless it may be different the next time. Contract: an
   * answer is plain JSON.
   */
  async answer<Answer>(
    question: Json, ask: () => Promise<Answer>, isKept: (answer: Answer) => boolean = () => true,
  ): Promise<Answer> {
    const key = canonicalJson(question)
    if (Object.hasOwn(this.#kept, key)) {
      this.#wasUsed = true
      return this.#kept[key] as unknown as Answer
    }
    this.#hasAsked = true
    this.#onAsk?.()
    const answer = await ask()
    if (isKept(answer)) this.#answers = { ...this.#answers, [key]: answer as unknown as Json }
    return answer
  }

  /** Never throws: what cannot be kept is tried again. */
  save(): void {
    if (this.#folder === undefined || this.#machine === undefined || !this.#hasAsked) return
    try {
      makeFolder(this.#folder)
      writePrivateFile(join(this.#folder, FILE), JSON.stringify({ machine: this.#machine, answers: this.#answers }))
    } catch {
      // The next process tries again.
    }
  }
}

/** Empty for another machine, for a file that others can write, and for one with a fault. */
function readAnswers(file: string, machine: string | undefined): JsonObject {
  try {
    const parsed = parseJson(readPrivateFile(file) ?? '')
    if (machine === undefined || !parsed.ok || !isJsonObject(parsed.value)) return {}
    const { machine: of, answers } = parsed.value
    return of === machine && isJsonObject(answers) ? answers : {}
  } catch {
    return {}
  }
}
