import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from './blocks.ts'

const exported = readFileSync(join(ROOT, 'packages/bulkhead/src/library.ts'), 'utf8').matchAll(/\{([^}]*)\}/g)
  .flatMap(([, names]) => names!.split(',')).map((name) => name.replace(/^\s*type\s|\s/g, '')).filter((name) => name !== '').toArray()

it('docs/reference/api.md has every name that is exported, and no other', () => {
  const page = readFileSync(join(ROOT, 'docs/reference/api.md'), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `')).map((line) => line.split('|')[1]!)
  const told = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name!))
  expect(exported.length).toBeGreaterThan(90)
  expect(told.toSorted()).toEqual(exported.toSorted())
})
