import { CODE_ITEMS } from '@bulkhead/contract'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { readDiagnostics, readHover, readLocations, readSymbols } from '../../src/lsp/answers.ts'

const at = (line: number, character = 0) => ({ start: { line, character }, end: { line, character: character + 1 } })

it('reads a location, several, and links, without duplicates', () => {
  const one = { uri: 'file:///project/src/a%20b.ts', range: at(3, 4) }
  const expected = { path: 'src/a b.ts', isOutside: false, start: { line: 3, character: 4 } }
  expect(readLocations(one, '/project')).toEqual([expected])
  expect(readLocations([one, one], '/project')).toEqual([expected])
  expect(
    readLocations([{ targetUri: one.uri, targetRange: at(1), targetSelectionRange: at(3, 4) }], '/project'),
  ).toEqual([expected])
  expect(readLocations(null, '/project')).toEqual([])
})

it('returns so many of an answer, and not fewer because some are equal', () => {
  const twice = (_: unknown, index: number) => ({ uri: 'file:///w/a', range: at(Math.floor(index / 2)) })
  const many = Array.from({ length: 2 * CODE_ITEMS + 2 }, twice)
  expect(readLocations(many, '/w')).toHaveLength(CODE_ITEMS)
})

it('marks places outside of the workspace', () => {
  const paths = [
    'file:///project/../etc/passwd', 'file:///projector/a.ts', 'file:///project/%2e%2e/x', 'deno:/std/a.ts',
    'file://host/project/a.ts',
  ].map((uri) => readLocations({ uri, range: at(0) }, '/project')[0])
  expect(paths.map((found) => found?.isOutside)).toEqual([true, true, true, true, undefined])
})

it.each([
  ['plain', 'plain'], [{ kind: 'markdown', value: '**b**' }, '**b**'],
  [{ language: 'ts', value: 'let a' }, '```ts\nlet a\n```'],
  [[{ language: 'ts', value: 'let a' }, 'text', ''], '```ts\nlet a\n```\n\ntext'], [null, ''], [[5, {}], ''],
])('reads the hover %j', (contents, text) => {
  expect(readHover({ contents })).toBe(text)
})

it('reads symbols of a document and of a workspace', () => {
  const nested = [
    {
      name: 'A', kind: 5, range: at(0), selectionRange: at(0, 6),
      children: [{ name: 'run', kind: 6, selectionRange: at(1, 2) }],
    },
  ]
  expect(readSymbols(nested, '/project', 'a.ts')).toEqual([
    { path: 'a.ts', isOutside: false, start: { line: 0, character: 6 }, name: 'A', kind: 'class' },
    { path: 'a.ts', isOutside: false, start: { line: 1, character: 2 }, name: 'run', kind: 'method', container: 'A' },
  ])
  expect(
    readSymbols([{ name: 'B', kind: 99, containerName: 'ns', location: { uri: 'file:///project/b.ts' } }], '/project'),
  ).toEqual([
    { path: 'b.ts', isOutside: false, start: { line: 0, character: 0 }, name: 'B', kind: 'symbol', container: 'ns' },
  ])
})

it('reads diagnostics', () => {
  expect(
    readDiagnostics([
      { range: at(1, 2), message: 'm', severity: 2, code: 12, source: 's' },
      { range: at(0), message: { kind: 'markdown', value: 'n' } }, { message: 'no range' }, { range: at(0) },
      { range: { start: { line: -1, character: 0 } }, message: 'x' },
    ]),
  ).toEqual([
    { severity: 'warning', message: 'm', code: '12', source: 's', start: { line: 1, character: 2 } },
    { severity: 'error', message: 'n', start: { line: 0, character: 0 } },
  ])
})

it('never throws, whatever a server answers', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    const json = value as never
    for (const answer of [
      json, [json], { contents: json }, [{ uri: json, range: json, name: 'x', location: json, children: json }],
    ]) {
      readLocations(answer, '/project')
      readHover(answer)
      readSymbols(answer, '/project')
      readDiagnostics(answer)
    }
  }))
})

it('cuts addresses, text and names', () => {
  const long = 'x'.repeat(60_000)
  const [location] = readLocations({ uri: `file:///w/${long}`, range: at(0) }, '/w')
  expect(location!.path).toHaveLength(4_096 - 'file:///w/'.length)
  expect(readHover({ contents: [long, long] })).toHaveLength(100_000)
  const [symbol] = readSymbols([{ name: long, kind: 5, range: at(0), selectionRange: at(0) }], '/w', 'a')
  expect(symbol!.name).toHaveLength(500)
})
