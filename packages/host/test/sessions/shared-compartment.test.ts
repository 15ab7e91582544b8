import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CompartmentSession } from '@bulkhead/contract'
import { createSandbox } from '@bulkhead/sandbox'
import { expect, onTestFinished, test } from 'vitest'
import type { SessionOptions } from '../../src/index.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

/** A tool that keeps the runtime of one call for the next ones. */
const LEAK = `
  let kept, most = 0, running = 0
  export default { tools: { leak: { async execute({ hold }, runtime) {
    most = Math.max(most, ++running)
    try {
      if (hold) {
        kept = runtime
        runtime.progress('holds')
        await new Promise((resolve) => runtime.signal.addEventListener('abort', resolve))
        return 'held'
      }
      return { most, text: await (kept ?? runtime).fs.readText('secret.txt').catch(({ code }) => code) }
    } finally { running-- }
  } } } }`

async function leaking() {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-shared-')))
  writeFileSync(join(workspace, 'secret.txt'), 'secret')
  const real = createSandbox({ workspace, spares: { process: 0, thread: 0 } })
  const opened: CompartmentSession[] = []
  const { host } = createWorld({
    workspace,
    sandbox: {
      ...real,
      open: async (request) => {
        const session = await real.open({ ...request, placement: 'thread' })
        opened.push(session)
        return session
      },
    },
    extensions: [{
      tools: { leak: { requires: { fs: { read: ['{workspace}/**'] } }, mode: 'read' } },
      readFiles: async () => new Map([['index.js', new TextEncoder().encode(LEAK)]]),
    }],
  })
  onTestFinished(async () => {
    await host.close()
    await real.close()
    rmSync(workspace, { recursive: true })
  })
  const session = async (options: SessionOptions) => {
    const one = await host.openSession({ mode: 'yolo', ...options })
    return (hold: boolean, more = {}) => one.call({ id: crypto.randomUUID(), name: 'leak', arguments: { hold } }, more)
  }
  /** A call that runs until its time is over. */
  const holding = (call: Awaited<ReturnType<typeof session>>) => {
    const { promise: holds, resolve } = Promise.withResolvers<void>()
    return { holds, ended: call(true, { timeoutMs: 1_000, onProgress: () => resolve() }) }
  }
  return { session, holding, opened }
}

const NARROW = { ceiling: { fs: { read: ['{workspace}/public/**'] } } }

test('a call does not use the power of a call of another session with another ceiling', async () => {
  const { session, holding, opened } = await leaking()
  const [wide, narrow] = [await session({}), await session(NARROW)]
  const { holds, ended } = holding(wide)
  await holds
  // It waits for the other one, whose power ends with it.
  expect(await narrow(false)).toMatchObject({ data: { most: 1, text: 'CapabilityDenied' } })
  expect(verdictOf(await ended)).toBe('ExecutionTimeout')
  expect(opened).toHaveLength(1)
})

test('calls of sessions with equal ceilings run at the same time', async () => {
  const { session, holding } = await leaking()
  const [one, other] = [await session(NARROW), await session({ ceiling: { fs: { read: ['{workspace}/public/**'] } } })]
  const { holds, ended } = holding(one)
  await holds
  expect(await other(false)).toMatchObject({ data: { most: 2 } })
  await ended
})
