import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { MUTANTS } from '../soak/mutants/list.ts'
import { applied } from '../soak/mutants/mutant.ts'

const ROOT = join(import.meta.dirname, '../../..')

it('each mutant that `pnpm soak` runs changes one place and names a test that exists', () => {
  const changed = MUTANTS.map((mutant) => ({ mutant, line: applied(mutant, ROOT).line }))
  expect(changed.filter(({ mutant: { from, to }, line }) => line === 0 || from === to)).toEqual([])
  expect(MUTANTS.filter(({ test }) => !existsSync(join(ROOT, test))).map(({ test }) => test)).toEqual([])
  expect(new Set(MUTANTS.map(({ what }) => what)).size).toBe(MUTANTS.length)
})

it('a mutant whose text is gone or stands twice is reported', () => {
  const [mutant] = MUTANTS
  expect(() => applied({ ...mutant!, from: 'no such text' }, ROOT)).toThrow('stands not in')
  expect(() => applied({ ...mutant!, from: 'const ' }, ROOT)).toThrow('stands more than once in')
})
