import { useState } from 'preact/hooks'
import { clock } from '../model/words.ts'

interface Series {
  readonly name: string
  readonly points: readonly (number | null)[]
  readonly isHigh?: boolean
}

interface ChartOf {
  readonly title: string
  /** In words: what a screen reader gets in place of the drawing. */
  readonly summary: string
  readonly from: number
  readonly pointMs: number
  readonly bars?: readonly Series[]
  readonly lines?: readonly Series[]
  unit(value: number): string
}

const HEIGHT = 100

/** Bars or lines over time, drawn as SVG. The point under the pointer is shown in words. */
export function Chart({ title, summary, from, pointMs, bars = [], lines = [], unit }: ChartOf) {
  const [at, setAt] = useState<number>()
  const all = [...bars, ...lines]
  const count = Math.max(1, ...all.map(({ points }) => points.length))
  const top = niceTop(Math.max(0, ...all.flatMap(({ points }) => points.map((value) => value ?? 0))))
  const y = (value: number): number => HEIGHT - (value / top) * HEIGHT
  const onMove = (event: PointerEvent): void => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect()
    setAt(Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - left) / width) * count))))
  }
  const words =
    at === undefined
      ? summary
      : [
          clock(from + at * pointMs),
          ...all.map(({ name, points }) => {
            const value = points[at]
            return `${name} ${value === null || value === undefined ? '–' : unit(value)}`
          }),
        ].join(', ')
  return (
    <figure class="panel">
      <header>
        <h2>{title}</h2>
        <span class="quiet small push">{words}</span>
      </header>
      <div class="body">
        <svg
          class="chart"
          viewBox={`0 0 ${count} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${summary}`}
          onPointerMove={onMove}
          onPointerLeave={() => setAt(undefined)}
        >
          {[0, 0.5, 1].map((part) => (
            <path class="grid" d={`M0 ${part * HEIGHT}H${count}`} />
          ))}
          {bars.map(({ name, points }) => (
            <path
              class={`area ${name}`}
              d={points
                .map((value, index) =>
                  value ? `M${index + 0.12} ${HEIGHT}V${y(value)}H${index + 0.88}V${HEIGHT}Z` : '',
                )
                .join('')}
            />
          ))}
          {lines.map(({ points, isHigh }) => (
            <path class={`line${isHigh ? ' high' : ''}`} d={lineOf(points, y)} />
          ))}
        </svg>
        <div class="chart-foot">
          <span>{clock(from)}</span>
          <span>up to {unit(top)}</span>
          <span>now</span>
        </div>
        <div class="legend">
          {all.map(({ name, isHigh }) => (
            <span class={`key ${isHigh ? 'high' : name}`}>{name}</span>
          ))}
        </div>
      </div>
    </figure>
  )
}

/** Where nothing is known, the line has a gap. */
function lineOf(points: readonly (number | null)[], y: (value: number) => number): string {
  return points
    .map((value, index) => {
      if (value === null) return ''
      const start = index === 0 || points[index - 1] === null ? 'M' : 'L'
      // A single point would be invisible.
      return `${start}${index + 0.5} ${y(value)}${start === 'M' && (points[index + 1] ?? null) === null ? 'h0.4' : ''}`
    })
    .join('')
}

function niceTop(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power
}
