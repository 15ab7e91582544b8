import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { CACHE } from '../cache.ts'

const HOST = fileURLToPath(new URL('./fixtures/replica.ts', import.meta.url))

interface Word {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

/** As JSON.parse types it. */
type Parsed = ReturnType<typeof JSON.parse>

/** A host in its own process. */
export class Replica {
  readonly #child
  readonly #open = new Map<number, PromiseWithResolvers<Word>>()
  readonly #ended = Promise.withResolvers<void>()
  #count = 0

  private constructor(folder: string, config: object) {
    const args = [HOST, folder, CACHE, JSON.stringify(config)]
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#open.set(0, Promise.withResolvers())
    this.#child.once('close', () => {
      for (const { resolve } of this.#open.values()) resolve({ id: 0, error: 'ended' })
      this.#ended.resolve()
    })
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const word = JSON.parse(line) as Word
      this.#open.get(word.id)?.resolve(word)
      this.#open.delete(word.id)
    })
  }

  static async start(folder: string, config: object = {}): Promise<Replica> {
    const replica = new Replica(folder, config)
    await replica.#open.get(0)!.promise
    return replica
  }

  /** Resolves with the result, or rejects with the code of the error. */
  async ask(method: string, ...args: readonly unknown[]): Promise<Parsed> {
    const id = ++this.#count
    const word = Promise.withResolvers<Word>()
    this.#open.set(id, word)
    this.#child.stdin.write(`${JSON.stringify([id, method, ...args])}\n`)
    const { result, error } = await word.promise
    if (error !== undefined) throw new Error(error)
    return result
  }

  /** Ends it as a lost machine does. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended.promise
  }
}
