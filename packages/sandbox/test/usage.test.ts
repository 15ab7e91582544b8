import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { codeOf, invocation, refusal, requestOf, running } from './fixture.ts'
import { withoutSpares } from './pool/pooled.ts'

describe.each(['off', 'auto'] as const)('a child process with os: %s', (os) => {
  it('is killed when it uses too much processor time during a call', async () => {
    const sandbox = withoutSpares({ os })
    const neighbour = await sandbox.open(requestOf({ placement: 'process', source: running('return "alive"') }))
    const session = await sandbox.open(
      requestOf({ placement: 'process', source: running('for (;;);'), limits: { cpuMs: 300 } }),
    )
    const error = await refusal(session.call(invocation()))
    expect([error.code, error.message])
      .toEqual(['CompartmentOverloaded', expect.stringMatching(/\d+ of 300 ms in ten seconds/)])
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'CompartmentOverloaded' } })
    expect(await neighbour.call(invocation())).toBe('alive')
  })

  // The rest is measured in the same way, whatever the layers are. `pnpm soak` runs it with and without them.
  if (thoroughly(os === 'off', false)) return

  it('is killed when it uses too much processor time between calls', async () => {
    const source = running(
      'setInterval(() => { const end = Date.now() + 50; while (Date.now() < end); }, 10); return "begun"',
    )
    const session = await withoutSpares({ os }).open(
      requestOf({ placement: 'process', source, limits: { cpuMs: 300 } }),
    )
    expect(await session.call(invocation())).toBe('begun')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'CompartmentOverloaded' } })
  })

  it('is killed when it uses too much memory outside its heap', async () => {
    const source = running(
      'const all = []; for (;;) { try { all.push(Buffer.alloc(8 * 1024 * 1024, 1)) } catch {} await new '
        + 'Promise(setImmediate) }',
    )
    const request = requestOf({ placement: 'process', source, limits: { memoryMb: 144 } })
    const session = await withoutSpares({ os }).open(request)
    expect(await codeOf(session.call(invocation()))).toBe('CompartmentOutOfMemory')
  })

  it('is not killed while it is idle', async () => {
    const limits = { cpuMs: 900, memoryMb: 128 }
    const session = await withoutSpares({ os }).open(
      requestOf({ placement: 'process', source: running('return 1'), limits }),
    )
    for (let call = 0; call < 20; call++) expect(await session.call(invocation())).toBe(1)
  })
})
