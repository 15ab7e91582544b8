import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { suiteProgress, type SuiteProgress } from '../src/cli/publish/conformance-progress.ts'
import { createProgress, sizeInWords } from '../src/cli/output.ts'

const stream = (isTTY: boolean) => {
  const written: string[] = []
  const out = new Writable({
    decodeStrings: false, write: (text: string, _, done) => done(written.push(text) > 0 ? null : undefined),
  })
  return { written, stream: Object.assign(out, { isTTY }) as unknown as NodeJS.WriteStream }
}

it('draws a bar on a terminal and removes it', () => {
  const { written, stream: out } = stream(true)
  const progress = createProgress('fetching', out)
  progress.report(500, 1_000)
  progress.report(600, 1_000)
  progress.report(1_000, 1_000)
  progress.end()
  progress.end()
  const plain = written.map((text) => stripVTControlCharacters(text).replace('\r', ''))
  expect(plain).toEqual([
    `fetching ${'█'.repeat(12)}${'░'.repeat(12)}  50 % 500 B`, `fetching ${'█'.repeat(24)} 100 % 1.0 kB`, '',
  ])
})

it('shows the received size if the total is unknown', () => {
  const { written, stream: out } = stream(true)
  createProgress('fetching', out).report(2_500_000, undefined)
  expect(written.join()).toContain('2.5 MB')
})

it('writes nothing without a terminal', () => {
  const { written, stream: out } = stream(false)
  const progress = createProgress('fetching', out)
  progress.report(1, 2)
  progress.end()
  expect(written).toEqual([])
})

it('shows the step of the suite in one line on a terminal, and in lines without one', () => {
  const steps = ({ report, end }: SuiteProgress): void => {
    report('starting and stopping')
    report('calling shout', 0, 60)
    report('calling shout', 1, 60)
    end()
  }
  const live = stream(true)
  steps(suiteProgress(live.stream))
  const plain = live.written.map((text) => stripVTControlCharacters(text).replace('\r', '').replace(/\d+ s$/, 'N s'))
  expect(plain).toEqual([
    'starting and stopping, N s', 'calling shout, 0 of 60, N s', 'calling shout, 1 of 60, N s', '',
  ])
  const lines = stream(false)
  steps(suiteProgress(lines.stream))
  expect(lines.written.join('')).toBe('starting and stopping\ncalling shout\n')
})

it('formats sizes', () =>
  expect([0, 999, 1_000, 1_234_567].map(sizeInWords)).toEqual(['0 B', '999 B', '1.0 kB', '1.2 MB']))
