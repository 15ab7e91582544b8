import { describe, expect, it } from 'vitest'
import { renderReport, renderTable, type Paint } from '../src/harness/report.ts'
import type { RatioResult, Result } from '../src/harness/result.ts'

const plain: Paint = (_, text) => text
const marked: Paint = (style, text) => `<${style}>${text}</${style}>`

const ratio = (overrides: Partial<RatioResult>): RatioResult => ({
  side: 'ours',
  measure: 'p50',
  is: '≤',
  ratio: 0.5,
  against: 'theirs',
  median: 0.25,
  low: 0.2,
  high: 0.3,
  met: true,
  clear: true,
  ...overrides,
})

const result: Result = {
  title: 'One call',
  compares: 'Ours against theirs.',
  date: '2026-01-02T03:04:05.000Z',
  machine: { node: 'v26.0.0', platform: 'linux x64', cpu: 'Abacus', cores: 2 },
  quick: false,
  rounds: 30,
  seconds: 12.34,
  sides: [
    {
      name: 'ours',
      measures: [
        { measure: 'p50', unit: 'µs', value: 45.678, spread: 0.02 },
        { measure: '64-way', unit: 'calls/s', value: 123456.7, spread: 0.1 },
      ],
    },
    {
      name: 'theirs',
      measures: [
        { measure: 'p50', unit: 'µs', value: 1234.5, spread: 0 },
        { measure: '64-way', unit: 'calls/s', value: 99.6, spread: 0.3 },
      ],
    },
  ],
  ratios: [
    ratio({}), ratio({ measure: '64-way', is: '≥', ratio: 5, median: 4, met: false }),
    { side: 'theirs', measure: 'p50', against: 'ours', median: 4, low: 3, high: 5 },
  ],
  noise: {
    spinMs: { median: 1.2, low: 1.1, high: 1.3, spread: 0.05 }, loadBefore: 0.12, loadAfter: 1.5,
    typical: 0.06, widest: { side: 'theirs', measure: '64-way', spread: 0.3 }, quiet: true,
  },
}

describe('renderReport', () => {
  it('prints a table of sides, the ratios with their goals, and the noise', () => {
    expect(renderReport('skeleton', result, plain)).toBe(`\
skeleton  One call
Ours against theirs.

         p50 µs   spread   64-way calls/s   spread
ours       45.7      2 %          123,457     10 %
theirs    1,235      0 %              100     30 %

measure   of       against   ratio   half of the rounds   goal
p50       ours     theirs     0.25   0.20 – 0.30          ≤ 0.5   met
64-way    ours     theirs     4.00   0.20 – 0.30          ≥ 5     missed
p50       theirs   ours       4.00   3.00 – 5.00

Noise: spread of a side 6 %, at most 30 % (theirs, 64-way); calibration loop 1.20 ms, 5 %; load 0.1 before, 1.5 after.
30 rounds in 12.3 s on Node v26.0.0, linux x64, 2 × Abacus
`)
  })

  it('colours the result of a goal, and differently within the noise', () => {
    const text = renderReport('skeleton', { ...result, ratios: [...result.ratios, ratio({ clear: false })] }, marked)
    expect(text).toMatch(/<green>met +<\/green>/)
    expect(text).toMatch(/<red>missed +<\/red>/)
    expect(text).toContain('<yellow>met, within the noise</yellow>')
  })

  it('warns about a busy machine and a quick run', () => {
    expect(renderReport('s', result, plain)).not.toMatch(/busy|quick/)
    expect(renderReport('s', { ...result, noise: { ...result.noise, quiet: false } }, plain))
      .toContain('The machine was busy')
    expect(renderReport('s', { ...result, quick: true }, plain)).toContain('a quick run')
  })

  it('omits the ratios and the goals if there are none', () => {
    expect(renderReport('s', { ...result, ratios: result.ratios.slice(2) }, plain)).not.toContain('goal')
    expect(renderReport('s', { ...result, ratios: [] }, plain)).not.toContain('half of the rounds')
  })
})

const columns = [{ title: 'side', align: 'left' }, { title: 'µs', align: 'right' }] as const

describe('renderTable', () => {
  it('pads each column to its widest cell', () => {
    const rows = [[{ text: 'a' }, { text: '1,000' }], [{ text: 'longer' }, { text: '7' }]]
    expect(renderTable(columns, rows, (_, text) => text)).toEqual([
      'side        µs', 'a        1,000', 'longer       7',
    ])
  })

  it('ignores colour codes when padding', () => {
    const rows = [[{ text: 'a', style: 'green' }, { text: '1' }]] as const
    const lines = renderTable(columns, rows, (style, text) => `<${style}>${text}>`)
    expect(lines).toEqual(['<dim>side>   <dim>µs>', '<green>a   >    1'])
  })
})
