import type { CodeOrigins } from '@bulkhead/contract'
import { expect, it, onTestFinished } from 'vitest'
import { WALLS } from '../../../scripts/machine.ts'
import { createSandbox } from '../src/index.ts'
import { codeOf, invocation, refusal, requestOf, running } from './fixture.ts'

const ORIGINS: CodeOrigins = {
  main: 'index.js', placeOf: () => undefined, chainTo: () => [], importOf: () => undefined,
  sourceMapOf: () => undefined,
  declarationOf: async () => undefined,
}

/** Code that this process built from a folder. */
function built(source: string, placement: 'process' | 'thread' = 'process') {
  const request = requestOf({ placement, source })
  return { ...request, code: { ...request.code, origins: ORIGINS } as typeof request.code }
}

const PROBE = running(`
  const tried = {}
  for (const name of ['node:inspector', 'node:net']) {
    tried[name] = await import(name).then(() => 'imported', (error) => error.code)
  }
  return { ...tried, kill: typeof process.kill, builtin: typeof process.getBuiltinModule }`)

function inspecting(os: 'auto' | 'off' | 'require') {
  const addresses: string[] = []
  const heard = Promise.withResolvers<string>()
  const onListening = (address: string) => void heard.resolve(addresses[addresses.push(address) - 1]!)
  const sandbox = createSandbox({ workspace: '/', os, spares: { process: 0, thread: 0 }, inspect: { onListening } })
  onTestFinished(() => sandbox.close())
  return { sandbox, addresses, heard: heard.promise }
}

it(
  'opens a debugger for code that was built from a folder, on the loopback interface, in a process', WALLS,
  async () => {
    const { sandbox, heard } = inspecting('auto')
    const session = await sandbox.open(built(PROBE, 'thread'))
    expect(session.placement).toBe('process')
    expect(await heard).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/[\da-f-]{36}$/)
    expect(await session.call(invocation())).toEqual({
      'node:inspector': 'BuiltinDenied', 'node:net': 'BuiltinDenied', 'kill': 'undefined', 'builtin': 'undefined',
    })
  },
)

it('opens one for each of two at the same time', async () => {
  const { sandbox, addresses } = inspecting('off')
  const sessions = await Promise.all([sandbox.open(built(PROBE)), sandbox.open(built(PROBE))])
  await Promise.all(sessions.map((session) => session.call(invocation())))
  await expect.poll(() => new Set(addresses.map((address) => new URL(address).port)).size).toBe(2)
})

it('opens none for other code, nor without the option', async () => {
  const { sandbox, addresses } = inspecting('off')
  const session = await sandbox.open(requestOf({ placement: 'process', source: PROBE }))
  expect(await session.call(invocation())).toMatchObject({ 'node:inspector': 'BuiltinDenied' })
  const plain = createSandbox({ workspace: '/', os: 'off', spares: { process: 0, thread: 0 } })
  onTestFinished(() => plain.close())
  expect(await (await plain.open(built(PROBE))).call(invocation())).toMatchObject({ kill: 'undefined' })
  expect(addresses).toEqual([])
})

it('is refused where the walls are required', async () => {
  const { sandbox } = inspecting('require')
  const opening = sandbox.open(built(PROBE))
  expect(await codeOf(opening)).toBe('CapabilityUnavailable')
  expect((await refusal(opening)).message).toMatch(/leave out --inspect/)
})
