import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { LineResults } from '../../../src/fs/search/results.ts'

function usedAfterCollecting(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  collect()
  return process.memoryUsage().heapUsed
}

const MB = 1024 * 1024

const record = (type: string, data: object): Buffer => Buffer.from(`${JSON.stringify({ type, data })}\n`)

it('buffers no more context than the result may contain', LONG, () => {
  const found = new LineResults({ limit: 10_000, context: 100, keptChars: 2 * MB, shownPath: (path) => path })
  const before = usedAfterCollecting()
  for (let file = 0; file < 20; file++) {
    const path = { text: `./${String(file).padStart(3, '0')}` }
    found.add(record('begin', { path }))
    for (let line = 1; line <= 1_000; line++) {
      const type = line % 200 === 100 ? 'match' : 'context'
      found.add(record(type, { path, lines: { text: `${'x'.repeat(1_900)}${line}\n` }, line_number: line }))
    }
    found.add(record('end', { path }))
  }
  // The context has more than 36 MB.
  expect(usedAfterCollecting() - before).toBeLessThan(20 * MB)
  const { total, files, matches } = found.end()
  expect([total, files]).toEqual([100, 20])
  expect(matches.slice(0, 2)).toMatchObject([{ path: '000', line: 100 }, { path: '000', line: 300 }])
  expect(matches[0]!.before).toHaveLength(99)
})

it('notes that a line is missing if its record lost its middle', () => {
  const found = new LineResults({ limit: 10, context: 0, saves: true, shownPath: (path) => path })
  const path = { text: './a' }
  found.add(record('begin', { path }))
  found.add(record('match', { path, lines: { text: 'whole\n' }, line_number: 1 }))
  expect(found.text.isCut).toBe(false)
  found.add(Buffer.from(`{"type":"match","data":{"path":{"text":"./a"},"lines":{"text":"${'x'.repeat(40_000)}"}]}}\n`))
  expect([found.text.isCut, found.text.taken().toString()]).toEqual([true, 'a:1:whole\n'])
})

/** What a search returns for one file with these matches. */
function search(options: { readonly keptChars?: number }, count: number, text: string) {
  const found = new LineResults({ limit: 10_000, context: 0, shownPath: (path) => path, ...options })
  const path = { text: './a' }
  found.add(record('begin', { path }))
  for (let line = 1; line <= count; line++) found.add(record('match', { path, lines: { text }, line_number: line }))
  found.add(record('end', { path }))
  return found.end()
}

it('returns no more than 4 MB of text, and counts the rest', () => {
  const { matches, total } = search({}, 2_500, `${'x'.repeat(1_999)}\n`)
  expect([total, matches.length]).toEqual([2_500, Math.ceil(4 * MB / 2_000)])
})

it('buffers no more of one file than it may, and counts the rest', () => {
  const { matches, total } = search({ keptChars: 1_000 }, 100, `${'x'.repeat(136)}\n`)
  expect([total, matches.length]).toEqual([100, 6])
})
