import { styleText } from 'node:util'
import type { MeasureResult, Noise, RatioResult, Result } from './result.ts'

/** A result as text for a terminal. */
export function renderReport(name: string, result: Result, paint: Paint): string {
  return [
    `${paint('bold', name)}  ${result.title}`,
    paint('dim', result.compares),
    '',
    ...sidesTable(result, paint),
    '',
    ...(result.ratios.length === 0 ? [] : [...ratiosTable(result.ratios, paint), '']),
    paint('dim', noiseLine(result.noise)),
    paint('dim', machineLine(result)),
    ...warnings(result).map((warning) => paint('yellow', warning)),
    '',
  ].join('\n')
}

function sidesTable({ sides }: Result, paint: Paint): string[] {
  const measures = sides[0]?.measures ?? []
  const columns: Column[] = [
    { title: '', align: 'left' },
    ...measures.flatMap(({ measure, unit }): Column[] => [
      { title: `${measure} ${unit}`, align: 'right' },
      { title: 'spread', align: 'right' },
    ]),
  ]
  const rows = sides.map((side): Cell[] => [
    { text: side.name },
    ...side.measures.flatMap((one): Cell[] => [{ text: number(one) }, { text: percent(one.spread), style: 'dim' }]),
  ])
  return renderTable(columns, rows, paint)
}

const GOAL_COLUMNS: readonly Column[] = [{ title: 'goal', align: 'left' }, { title: '', align: 'left' }]

function ratiosTable(ratios: readonly RatioResult[], paint: Paint): string[] {
  const columns: Column[] = [
    { title: 'measure', align: 'left' },
    { title: 'of', align: 'left' },
    { title: 'against', align: 'left' },
    { title: 'ratio', align: 'right' },
    { title: 'half of the rounds', align: 'left' },
    ...(ratios.some(({ met }) => met !== undefined) ? GOAL_COLUMNS : []),
  ]
  const rows = ratios.map((ratio): Cell[] => [
    { text: ratio.measure },
    { text: ratio.side },
    { text: ratio.against },
    { text: ratio.median.toFixed(2), style: 'bold' },
    { text: `${ratio.low.toFixed(2)} – ${ratio.high.toFixed(2)}`, style: 'dim' },
    ...goalCells(ratio),
  ])
  return renderTable(columns, rows, paint)
}

function goalCells({ is, ratio, met, clear }: RatioResult): Cell[] {
  if (met === undefined) return []
  const word = met ? 'met' : 'missed'
  const verdict: Cell = clear ? { text: word, style: met ? 'green' : 'red' }
    : { text: `${word}, within the noise`, style: 'yellow' }
  return [{ text: `${is} ${ratio}` }, verdict]
}

function noiseLine(noise: Noise): string {
  const { widest, spinMs } = noise
  const most = `${percent(widest.spread)} (${widest.side}, ${widest.measure})`
  const seen = [
    `spread of a side ${percent(noise.typical)}, at most ${most}`,
    `calibration loop ${spinMs.median.toFixed(2)} ms, ${percent(spinMs.spread)}`,
    `load ${noise.loadBefore.toFixed(1)} before, ${noise.loadAfter.toFixed(1)} after`,
  ]
  return `Noise: ${seen.join('; ')}.`
}

function warnings({ quick, noise }: Result): string[] {
  if (quick) return ['This was a quick run. It shows that the sides work; do not use its numbers.']
  return noise.quiet ? [] : ['The machine was busy. Ratios are more reliable than absolute numbers.']
}

function machineLine({ machine: { node, platform, cores, cpu }, rounds, seconds }: Result): string {
  return `${rounds} rounds in ${seconds.toFixed(1)} s on Node ${node}, ${platform}, ${cores} × ${cpu}`
}

function number({ value, unit }: MeasureResult): string {
  const digits = unit !== 'calls/s' && value < 100 ? 1 : 0
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`
}

interface Cell {
  readonly text: string
  readonly style?: Style
}

interface Column {
  readonly title: string
  readonly align: 'left' | 'right'
}

const GAP = '   '

/** Rows with aligned columns. Cells are padded before they are coloured, because colour codes have no width. */
export function renderTable(columns: readonly Column[], rows: readonly (readonly Cell[])[], paint: Paint): string[] {
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...rows.map((row) => row[at]?.text.length ?? 0)))
  const line = (cells: readonly Cell[]) => columns
    .map(({ align }, at) => {
      const { text, style } = cells[at] ?? { text: '' }
      const width = widths[at] ?? 0
      const padded = align === 'left' ? text.padEnd(width) : text.padStart(width)
      return style === undefined ? padded : paint(style, padded)
    })
    .join(GAP)
    .trimEnd()
  return [line(columns.map(({ title }) => ({ text: title, style: 'dim' }))), ...rows.map(line)]
}

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow'
export type Paint = (style: Style, text: string) => string

/** Colours only on a terminal, and not if NO_COLOR is set. */
export function painterFor(stream: NodeJS.WritableStream): Paint {
  return (style, text) => styleText(style, text, { stream, validateStream: true })
}
