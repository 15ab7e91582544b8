import { spawn } from 'node:child_process'
import { on } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost, openSqliteStore } from '../../src/index.ts'
import { CACHE } from '../cache.ts'

const HOST = fileURLToPath(new URL('./fixtures/resuming-host.ts', import.meta.url))
const QUESTIONS = [{ question: 'Which harbour?' }, { question: 'Who is on board?' }]

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-resume-')) })
afterEach(() => rmSync(folder, { recursive: true }))

async function openHere() {
  const store = await openSqliteStore({ file: join(folder, 'host.db') })
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store })
  return { host, session: await host.openSession({ pause: true }) }
}

/** A call that waits for its first answer. */
async function pausedCall(): Promise<string> {
  const { host, session } = await openHere()
  await session.call({ id: 'q', name: 'question', arguments: { questions: QUESTIONS } })
  const [paused] = await host.pausedCalls()
  await host.close()
  return paused!.id
}

type Word = Readonly<Record<string, unknown>>

/** A host in its own process. */
class OtherHost implements AsyncDisposable {
  readonly #child
  readonly #words: AsyncIterator<[string]>
  readonly #closed = Promise.withResolvers<void>()

  constructor(paused: string) {
    this.#child = spawn(process.execPath, [HOST, folder, paused], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child.once('close', () => this.#closed.resolve())
    const lines = createInterface({ input: this.#child.stdout })
    this.#words = on(lines, 'line', { close: ['close'] }) as AsyncIterator<[string]>
  }

  async hears(): Promise<Word> {
    const { value, done } = await this.#words.next()
    return done ? { ended: true } : JSON.parse(value[0]) as Word
  }

  tell(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#closed.promise
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}

it('when two processes resume one paused call, one gets it and the other gets an error', async () => {
  const paused = await pausedCall()
  await using one = new OtherHost(paused)
  await using two = new OtherHost(paused)
  expect(await Promise.all([one.hears(), two.hears()])).toEqual([{ ready: true }, { ready: true }])
  one.tell('Oslo')
  two.tell('Bergen')
  const words = await Promise.all([one.hears(), two.hears()])
  expect(words).toContainEqual({ refused: 'InteractionAlreadyAnswered' })
  const winner = words.findIndex(({ asked }) => asked === 'Who is on board?')
  expect(winner).not.toBe(-1)
  const [host, answer] = winner === 0 ? [one, 'Oslo'] : [two, 'Bergen']
  host.tell('Nansen')
  expect(await host.hears()).toMatchObject({ outcome: { data: { answers: [[answer], ['Nansen']] } } })
  const { host: later, session } = await openHere()
  expect(await later.pausedCalls()).toEqual([])
  await expect(session.resume(paused)).rejects.toMatchObject({ code: 'NotFound' })
  await later.close()
})

it('a call whose process was killed after its resume can be resumed again with its answer', async () => {
  const paused = await pausedCall()
  const { host, session } = await openHere()
  {
    await using one = new OtherHost(paused)
    expect(await one.hears()).toEqual({ ready: true })
    one.tell('Oslo')
    expect(await one.hears()).toEqual({ asked: 'Who is on board?' })
    await expect(session.resume(paused)).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
  }
  await expect(session.resume(paused, 'Bergen')).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
  expect(await session.resume(paused)).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  expect(await session.resume(paused, 'Nansen')).toMatchObject({ data: { answers: [['Oslo'], ['Nansen']] } })
  await host.close()
})
