import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RULES } from './rules.ts'
import { importsOf } from './source-files.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')
describe('the workspace', () => {
  it.each(RULES.map((rule) => [rule.name, rule] as const))('%s', (_, rule) => {
    expect(rule.check(ROOT)).toEqual([])
  })
})

/**
 * Files to write into a copy of the sources, and the violation that the rule must report. None: another file needs it.
 */
const PLANTED: readonly (readonly [rule: string, file: string, text: string, found: string])[] = [
  [
    'a package imports contract', 'packages/loader/src/planted.ts', "import { createSandbox } from '@bulkhead/sandbox'",
    'packages/loader/src/planted.ts imports @bulkhead/sandbox',
  ],
  [
    'a package imports contract', 'packages/host/src/planted.ts', "export { x } from '../../store/src/index.ts'",
    'packages/host/src/planted.ts reaches out with ../../store/src/index.ts',
  ],
  [
    'a package imports contract', 'packages/store/src/planted.ts', "const { createHost } = await import('bulkhead')",
    'packages/store/src/planted.ts imports bulkhead',
  ],
  [
    'a package imports contract', 'packages/store/package.json', '{"dependencies":{"@bulkhead/host":"workspace:*"}}',
    'packages/store/package.json depends on @bulkhead/host',
  ],
  [
    'a package imports contract', 'packages/kit/src/planted.ts', "import { ERRORS } from '@bulkhead/contract'",
    'packages/kit/src/planted.ts imports @bulkhead/contract',
  ],
  [
    'never import each other', 'packages/sandbox/src/worker/planted.ts', "import { x } from '@bulkhead/broker'",
    'packages/sandbox/src/worker/planted.ts imports @bulkhead/broker',
  ],
  [
    'contract is pure', 'packages/contract/src/planted.ts', "import { readFile } from 'node:fs/promises'",
    'packages/contract/src/planted.ts imports node:fs/promises',
  ],
  [
    'contract is pure', 'packages/contract/src/planted.ts', "import 'fs'",
    'packages/contract/src/planted.ts imports fs',
  ],
  [
    'host sees ports', 'packages/host/src/planted.ts', "import { Worker } from 'node:worker_threads'",
    'packages/host/src/planted.ts imports node:worker_threads',
  ],
  [
    'never import each other', 'packages/sandbox/src/worker/planted.ts', "import { gate } from '../session/gate.ts'",
    'packages/sandbox/src/worker/planted.ts imports ../session/gate.ts',
  ],
  [
    'never import each other', 'packages/sandbox/src/session/planted.ts', "import type { X } from '../worker/boot.ts'",
    'packages/sandbox/src/session/planted.ts imports ../worker/boot.ts',
  ],
  [
    'never import each other', 'packages/sandbox/src/wire/planted.ts', "import { x } from '../session/gate.ts'",
    'packages/sandbox/src/wire/planted.ts imports ../session/gate.ts',
  ],
  [
    'in a circle', 'packages/host/src/model/linked-list.ts', "import type { SystemClock } from './system-clock.ts'",
    'packages/host/src/model/linked-list.ts, packages/host/src/model/system-clock.ts import each other in a circle',
  ],
  [
    'in a circle', 'packages/store/src/planted.ts', "import type { X } from './planted.ts'",
    'packages/store/src/planted.ts import each other in a circle',
  ],
  [
    'point down', 'packages/host/src/model/planted.ts', "import type { Session } from '../sessions/session.ts'",
    'packages/host/src/model/planted.ts imports packages/host/src/sessions/session.ts, which is not below it',
  ],
  [
    'point down', 'packages/host/src/records/planted.ts', "import { createHost } from '../host.ts'",
    'packages/host/src/records/planted.ts imports packages/host/src/host.ts, which is not below it',
  ],
  [
    'point down', 'packages/bridges/src/mcp/planted.ts', "import { x } from '../openapi/index.ts'",
    'packages/bridges/src/mcp/planted.ts imports packages/bridges/src/openapi/index.ts, which is not below it',
  ],
  [
    'point down', 'packages/broker/src/fs/search/planted.ts', "import { x } from '../fs.ts'",
    'packages/broker/src/fs/search/planted.ts imports packages/broker/src/fs/fs.ts, which is not below it',
  ],
  [
    'point down', 'packages/host/src/policy/approvals/inner/planted.ts', "import type { X } from '../planted.ts'",
    'in packages/host/src/policy/approvals, * and inner import each other: '
      + 'inner/planted.ts imports planted.ts, planted.ts imports inner/planted.ts',
  ],
  ['point down', 'packages/host/src/policy/approvals/planted.ts', "import type { X } from './inner/planted.ts'", ''],
  [
    'point down', 'packages/sandbox/corpus/one/planted.ts', "import { x } from '../two/planted.ts'",
    'in packages/sandbox/corpus, one and two import each other: '
      + 'one/planted.ts imports two/planted.ts, two/planted.ts imports one/planted.ts',
  ],
  ['point down', 'packages/sandbox/corpus/two/planted.ts', "import { x } from '../one/planted.ts'", ''],
  ['point down', 'packages/planted/package.json', '{}', 'packages/planted is not in floors.ts'],
  ['point down', 'packages/host/src/planted/planted.ts', '', 'packages/host/src/planted has no floor'],
  ['under 300 lines', 'apps/demo/src/planted.ts', 'x\n'.repeat(300), 'apps/demo/src/planted.ts has 301 lines'],
  [
    'generic name', 'packages/host/src/utils/planted.ts', '',
    'packages/host/src/utils/planted.ts has a name that says nothing about its content',
  ],
  [
    'an index is small', 'packages/store/src/index.ts', "export * from './memory-store.ts'",
    'packages/store/src/index.ts exports *',
  ],
  [
    'an index is small', 'packages/store/src/index.ts', '\n'.repeat(100),
    'packages/store/src/index.ts has more than 100 lines',
  ],
  [
    'a test pins every entry', 'packages/store/test/exports.test.ts', '',
    'packages/store/test/exports.test.ts does not pin ./src/index.ts',
  ],
  ['has a README', 'packages/store/README.md', '\n'.repeat(60), 'packages/store/README.md is too long'],
  [
    'a test is skipped with a reason', 'packages/store/test/planted.test.ts', `it.${'skip'}("x", () => {})`,
    'packages/store/test/planted.test.ts: use needs() or runsIf(), so that the reason is counted',
  ],
  [
    'a test is skipped with a reason', 'packages/store/src/planted/test/planted.test.ts', `it.${'only'}("x", () => {})`,
    'packages/store/src/planted/test/planted.test.ts: use needs() or runsIf(), so that the reason is counted',
  ],
  [
    'waits with words', 'packages/store/test/planted.test.ts', `await vi.${'waitUntil'}(isOpen)`,
    'packages/store/test/planted.test.ts: use expect.poll(), which says what it waits for',
  ],
  [
    'tag of walls', 'packages/store/test/planted.test.ts',
    `it('x', () => { expect(has('${'bubblewrap'}')).toBe(true) })`,
    'packages/store/test/planted.test.ts has no WALLS',
  ],
  ...['packages/store/soak/planted.ts', 'packages/store/src/planted.test.ts', 'bench/test/planted/planted.ts'].map(
    (file) => ['lines of tests', file, `x\n${'x'.repeat(121)}`, `${file}:2 has 121 columns`] as const,
  ),
]

describe('a planted violation is found', () => {
  let root: string
  beforeAll(() => { root = copyOfWorkspace() })
  afterAll(() => rmSync(root, { recursive: true }))

  /** Writes a file. Returns how to undo that. */
  const plant = (file: string, text: string): (() => void) => {
    const path = join(root, file)
    const previous = existsSync(path) ? readFileSync(path) : undefined
    const created = mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return () => previous === undefined ? rmSync(created ?? path, { recursive: true }) : writeFileSync(path, previous)
  }

  // A rule reads all sources, so it looks for all its violations at once, unless they are in the same file.
  const turnOf = (index: number): number => PLANTED.slice(0, index)
    .filter(([rule, file]) => rule === PLANTED[index]![0] && file === PLANTED[index]![1]).length
  const groups = Map.groupBy(
    PLANTED.map((one, index) => [turnOf(index), one] as const), ([turn, [rule]]) => `${rule}, ${turn + 1}`,
  )
  it.each([...groups])('%s', (_, planted) => {
    const rule = RULES.find(({ name }) => name.includes(planted[0]![1][0]))
    const undo = planted.map(([, [, file, text]]) => plant(file, text))
    const wanted = planted.map(([, [, , , found]]) => found).filter((found) => found !== '')
    expect(rule?.check(root)).toEqual(expect.arrayContaining(wanted))
    for (const restore of undo.toReversed()) restore()
  })
})

describe('imports are read from', () => {
  it.each([
    ["import { a } from 'one'", ['one']],
    ["import type { A,\n  B } from \"two\"", ['two']],
    ["export { a } from './three.ts'", ['./three.ts']],
    ["const m = await import('four')", ['four']],
    ["import 'five'", ['five']],
    ["import a, { b } from 'six'; import c from 'seven'", ['six', 'seven']],
    ["const from = 'nothing'", []],
  ])('%s', (text, imports) => {
    expect(importsOf(text)).toEqual(imports)
  })
})

function copyOfWorkspace(): string {
  const root = mkdtempSync(join(tmpdir(), 'bulkhead-architecture-'))
  for (const name of readdirSync(join(ROOT, 'packages'))) {
    for (const part of ['package.json', 'README.md', 'src', 'corpus', 'test/exports.test.ts']) {
      const source = join(ROOT, 'packages', name, part)
      if (existsSync(source)) cpSync(source, join(root, 'packages', name, part), { recursive: true })
    }
  }
  return root
}
