import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHost } from 'bulkhead'
import type { Runner, Side } from '../harness/subject.ts'
import { payload } from './payload.ts'

const extension = fileURLToPath(new URL('../../extensions/echo/', import.meta.url))

/** The whole path of a call through the facade: a project's extension, validated, placed there, and called in a session. */
function bulkheadIn<const Placement extends 'thread' | 'process'>(placement: Placement) {
  return {
    name: `bulkhead ${placement}`,
    answer: payload,
    start: async (): Promise<Runner> => {
      await using opened = new AsyncDisposableStack()
      const workspace = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
      opened.defer(() => rm(workspace, { recursive: true, force: true }))
      await cp(extension, join(workspace, '.bulkhead', 'tools', 'echo'), { recursive: true })
      const home = join(workspace, 'home')
      const host = await createHost({ workspace, home, trust: 'once', config: { isolation: { project: placement } } })
      opened.defer(async () => void (await host.close()))
      const session = await host.openSession({ mode: 'ask' })
      const started = opened.move()
      return {
        run: async (i) => {
          const outcome = await session.call({ id: `c${i}`, name: 'echo', arguments: payload(i) })
          if (outcome.type === 'error') throw new Error(`${outcome.error.code}: ${outcome.error_text}`)
          return outcome.data
        },
        stop: () => started.disposeAsync(),
      }
    },
  } as const satisfies Side
}

export const bulkheadProcess = bulkheadIn('process')
export const bulkheadThread = bulkheadIn('thread')
