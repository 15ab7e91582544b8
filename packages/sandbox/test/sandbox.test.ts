import { describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { codeOf, invocation, newSandbox, requestOf, REMOTE, running, toolOf } from './fixture.ts'

describe('a sandbox', () => {
  it('runs built-in modules inline only, and files never inline', async () => {
    const sandbox = newSandbox()
    const files = requestOf({ placement: 'inline', source: running('') })
    expect(await codeOf(sandbox.open(files))).toBe('CompartmentStartFailed')
    for (const placement of REMOTE) {
      expect(
        await codeOf(sandbox.open({ ...files, placement, code: { kind: 'module', module: { tools: {} } } })),
      ).toBe('CompartmentStartFailed')
    }
  })

  it('ends every compartment when it closes, also those that are still opening', async () => {
    const sandbox = newSandbox()
    const sessions = await Promise.all(
      REMOTE.map((placement) => sandbox.open(requestOf({ placement, source: running('await new Promise(() => {})') }))),
    )
    const calls = sessions.map((session) => codeOf(session.call(invocation())))
    const opening = REMOTE.map((placement) => codeOf(sandbox.open(requestOf({ placement, source: 'for (;;);' }))))
    await sandbox.close()
    expect(await Promise.all(calls)).toEqual(['CompartmentKilled', 'CompartmentKilled'])
    expect(await Promise.all(opening)).toEqual(['HostClosed', 'HostClosed'])
    expect(await Promise.all(sessions.map((session) => session.ended)))
      .toEqual([{ kind: 'closed' }, { kind: 'closed' }])
    expect(await codeOf(sandbox.open(requestOf({ placement: 'thread', source: running('') })))).toBe('HostClosed')
    await sandbox.close()
  })

  it('runs many compartments at once', LONG, async () => {
    const sandbox = newSandbox()
    const sessions = await Promise.all(Array.from({ length: 8 }, (_, index) => {
      const placement = REMOTE[index % 2]!
      return sandbox.open(requestOf({ placement, source: running(`return ${index}`), limits: { startMs: 20_000 } }))
    }))
    expect(await Promise.all(sessions.map((session) => session.call(invocation())))).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(new Set(sessions.map((session) => session.id)).size).toBe(8)
  })

  it('rejects calls of unknown tools', async () => {
    const session = await newSandbox().open(
      requestOf({ placement: 'thread', source: running(''), tools: [toolOf('run')] }),
    )
    expect(await codeOf(session.call(invocation({}, { tool: 'other' })))).toBe('ToolNotRegistered')
    expect(await codeOf(session.deriveApprovalKey('toString', {}, new AbortController().signal)))
      .toBe('ToolNotRegistered')
  })
})
