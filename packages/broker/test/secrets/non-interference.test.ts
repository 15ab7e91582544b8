import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import type { Program } from './non-interference/program.ts'
import { programs } from './non-interference/program.ts'
import { ProgramRunner } from './non-interference/world.ts'

it('shows a tool the same chunks, whatever the secret and the files outside its grant contain', async () => {
  const runner = await ProgramRunner.open()
  await fc.assert(fc.asyncProperty(programs, async (program) => {
    const one = await runner.run(program, { secret: program.secrets.one, closedFile: 'one' })
    const other = await runner.run(program, { secret: program.secrets.other, closedFile: undefined })
    expect(other).toEqual(one)
  }), { numRuns: thoroughly(3, 150) })
})

it('does not reveal the first letters of an unused secret', async () => {
  const runner = await ProgramRunner.open()
  const [one, other] = ['correct-horse-battery', 'battery-correct-horse']
  for (const from of ['own', 'foreign'] as const) {
    const chunks = Array.from({ length: one.length - 1 }, (_, index) => [
      { kind: 'guess', of: 'one', from: 0, length: index + 1 } as const, { kind: 'filler', text: '!\n' } as const,
    ].map((part) => [part])).flat()
    const fetch = {
      do: 'fetch', from, withHandle: false, query: [], header: [], chunks, breaksOff: false, redirect: undefined,
    } as const
    const program: Program = { secrets: { one, other }, steps: [fetch] }
    const seen = await runner.run(program, { secret: one, closedFile: undefined })
    expect(await runner.run(program, { secret: other, closedFile: undefined })).toEqual(seen)
  }
})
