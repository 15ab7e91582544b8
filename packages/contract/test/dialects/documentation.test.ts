import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { ARGUMENT_ALIASES, TOOL_ALIASES } from '../../src/dialects/aliases.ts'

const PACKAGE = join(import.meta.dirname, '../..')
const page = readFileSync(join(PACKAGE, '../../docs/guides/dialects.md'), 'utf8')

it('the program of the page runs', LONG, () => {
  const program = /^```ts dialects\.ts\n([\s\S]*?)^```/m.exec(page)![1]!
  const { status, stderr } = spawnSync(
    process.execPath, ['--input-type=module-typescript', '--eval', program], { cwd: PACKAGE, encoding: 'utf8' },
  )
  expect([status, stderr]).toEqual([0, ''])
})

it('the page names every alias', () => {
  const names = [...TOOL_ALIASES.keys(), ...ARGUMENT_ALIASES.keys()].map((name) => name.split('.')[0]!)
  expect(names.filter((name) => !page.includes(`\`${name}`))).toEqual([])
})
