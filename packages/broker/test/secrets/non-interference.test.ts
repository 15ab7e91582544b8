import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import type { Program } from './non-interference/program.ts'
import { programs } from './non-interference/program.ts'
import { ResolveContext } from './non-interference/world.ts'

it('a tool sees the same pieces of the same bytes, whatever the secret is and whatever lies in files it may not read', async () => {
  const ground = await ResolveContext.open()
  await fc.assert(fc.asyncProperty(programs, async (program) => {
    const one = await ground.run(program, { secret: program.secrets.one, closedFile: 'one' })
    const other = await ground.run(program, { secret: program.secrets.other, closedFile: undefined })
    expect(other).toEqual(one)
  }), { numRuns: thoroughly(30, 150) })
})

it('the first letters of an unused secret are indistinguishable from others', async () => {
  const ground = await ResolveContext.open()
  const [one, other] = ['correct-horse-battery', 'battery-correct-horse']
  for (const from of ['own', 'foreign'] as const) {
    const chunks = Array.from({ length: one.length - 1 }, (_, index) => [
      { kind: 'guess', of: 'one', from: 0, length: index + 1 } as const, { kind: 'filler', text: '!\n' } as const,
    ].map((part) => [part])).flat()
    const fetch = { do: 'fetch', from, withHandle: false, query: [], header: [], chunks, breaksOff: false, redirect: undefined } as const
    const program: Program = { secrets: { one, other }, steps: [fetch] }
    const seen = await ground.run(program, { secret: one, closedFile: undefined })
    expect(await ground.run(program, { secret: other, closedFile: undefined })).toEqual(seen)
  }
})
