import {
  BulkheadError, DEFAULT_LIMITS, type CompartmentRequest, type CompartmentSession, type Outcome,
} from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { createTool } from '../code-mode.ts'

const made: string[] = []
const output = {
  type: 'output', data: 1, metadata: { call_id: '', tool: '', origin: null, duration_ms: 0, attempt: 1 },
} satisfies Outcome

/** A compartment that the program has taken over: it calls the tool that it likes. */
const taken = (tool: string) => async ({ services }: CompartmentRequest): Promise<CompartmentSession> => ({
  call: async () => services.callTool!('program', tool, {}, new AbortController().signal)
    .then(() => ({ value: 'called' }), (error: unknown) => ({ value: BulkheadError.from(error).code })),
  close: async () => undefined,
}) as unknown as CompartmentSession

it.each([
  ['return await tools.read({})', 'read', 'called'],
  ['return await tools.read({})', 'write', 'CapabilityDenied'],
  ['return await tools[name]({})', 'write', 'called'],
])('the program %j may call %s: %s', async (code, tool, expected) => {
  const programs = { place: () => ({ open: taken(tool), limits: DEFAULT_LIMITS }), functions: () => [] }
  const runtime = {
    signal: new AbortController().signal, session: { id: async () => 's' },
    tools: { call: async (name: string) => { made.push(name); return output } },
  }
  made.length = 0
  const { execute } = createTool({ programs }) as unknown as {
    execute(args: object, runtime: object): Promise<unknown>
  }
  expect(await execute({ code }, runtime)).toEqual({ value: expected })
  expect(made).toEqual(expected === 'called' ? [tool] : [])
})
