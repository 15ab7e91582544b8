import type { Outcome } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { codeOf, invocation, newSandbox, requestOf, running, toolOf } from './fixture.ts'

/** A cancelled call may go on for a while, and models reuse the ids of their calls. */
it('a call keeps its own id for the host while a cancelled call with the same id still runs', async () => {
  const begun = Promise.withResolvers<void>()
  const asked: string[] = []
  const session = await newSandbox().open(requestOf({
    placement: 'process',
    source: running(
      'if (args.wait) await runtime.progress("begun"), await new Promise(() => {}); return '
        + 'runtime.tools.call("other", {})',
    ),
    tools: [toolOf('run', { capabilities: ['tools.call'] })],
    limits: { graceMs: 60_000 },
    services: {
      callTool: async (callId) => {
        asked.push(callId)
        return { type: 'output', data: null, metadata: {} } as unknown as Outcome
      },
    },
  }))
  const controller = new AbortController()
  const onProgress = (): void => begun.resolve()
  const first = codeOf(
    session.call(invocation({ wait: true }, { callId: 'call_1', signal: controller.signal, onProgress })),
  )
  await begun.promise
  controller.abort()
  expect(await first).toBe('ToolCancelled')
  await session.call(invocation({}, { callId: 'call_1' }))
  expect(asked).toEqual(['call_1'])
})
