import { spawn } from 'node:child_process'
import { on } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { BulkheadError, createHost, openSqliteStore, type SessionOptions } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'

const HOST = fileURLToPath(new URL('./fixtures/resuming-host.ts', import.meta.url))
const QUESTIONS = [{ question: 'Which harbour?' }, { question: 'Who is on board?' }]

let folder: string
let other: OtherHost
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-resume-'))
  other = new OtherHost()
  expect(await other.hears()).toEqual({ ready: true })
})
afterAll(async () => {
  await other.kill()
  rmSync(folder, { recursive: true })
})

async function openHere(options: SessionOptions = { pause: true }) {
  const store = await openSqliteStore({ file: join(folder, 'host.db') })
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store })
  return { host, session: await host.openSession(options) }
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
class OtherHost {
  readonly #child
  readonly #words: AsyncIterator<[string]>
  readonly #closed = Promise.withResolvers<void>()

  constructor() {
    this.#child = spawn(process.execPath, [...BUNDLED, HOST, folder, CACHE], { stdio: ['pipe', 'pipe', 'inherit'] })
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
}

it('when two processes resume one paused call, one gets it and the other gets an error', async () => {
  const paused = await pausedCall()
  const asked = Promise.withResolvers<Word>()
  const answer = Promise.withResolvers<string>()
  const interactor = {
    async interact() {
      asked.resolve({ asked: 'Who is on board?' })
      return { status: 'accepted' as const, value: await answer.promise }
    },
  }
  const { host, session } = await openHere({ interactor })
  other.tell(`${paused} Oslo`)
  const resumed: Promise<Word> = session.resume(paused, 'Bergen')
    .then((outcome) => ({ outcome }), (thrown: unknown) => ({ refused: BulkheadError.from(thrown).code }))
  const words = await Promise.all([other.hears(), Promise.race([resumed, asked.promise])])
  expect(words).toContainEqual({ refused: 'InteractionAlreadyAnswered' })
  expect(words).toContainEqual({ asked: 'Who is on board?' })
  const othersTurn = 'asked' in words[0]
  if (othersTurn) other.tell('Nansen')
  else answer.resolve('Nansen')
  const town = othersTurn ? 'Oslo' : 'Bergen'
  expect(await (othersTurn ? other.hears() : resumed)).toMatchObject({
    outcome: { data: { answers: [[town], ['Nansen']] } },
  })
  expect(await host.pausedCalls()).toEqual([])
  await expect(session.resume(paused, 'Bergen')).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
  await host.close()
})

it('a call whose process was killed after its resume can be resumed again with its answer', LONG, async () => {
  const paused = await pausedCall()
  const { host, session } = await openHere()
  other.tell(`${paused} Oslo`)
  expect(await other.hears()).toEqual({ asked: 'Who is on board?' })
  await expect(session.resume(paused)).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
  await other.kill()
  await expect(session.resume(paused, 'Bergen')).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
  expect(await session.resume(paused)).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  expect(await session.resume(paused, 'Nansen')).toMatchObject({ data: { answers: [['Oslo'], ['Nansen']] } })
  await host.close()
})
