import type { Span, SpanKind } from '../../protocol.ts'
import { addressOf } from '../model/route.ts'
import { bytes, duration, shown } from '../model/words.ts'

const KINDS: Readonly<Record<SpanKind, string>> = {
  queue: 'queue',
  policy: 'policy',
  person: 'waiting for a person',
  start: 'start',
  run: 'run',
  use: 'use of a capability',
  call: 'call of its own',
  settle: 'settle',
}

/** Waiting for people is longer than all else, and would leave nothing to see of it. It gets at most this share. */
const MOST_FOR_PEOPLE = 0.3

interface Scale {
  /** The place of a time, from 0 to 1. */
  readonly at: (ms: number) => number
  readonly total: number
  readonly isCut: boolean
}

/** Where one call spent its time: each part with its place, length, and for a use what it touched. */
export function Flame({ spans, total }: { spans: readonly Span[]; total: number }) {
  const scale = scaleOf(spans, total)
  const kinds = [...new Set(spans.map(({ kind }) => kind))]
  return (
    <figure>
      <table class="flame">
        <caption class="for-readers">Parts of the call in order of their start</caption>
        <colgroup>
          <col class="name" />
          <col />
          <col class="took" />
        </colgroup>
        <thead class="for-readers">
          <tr>
            <th>Part</th>
            <th>When</th>
            <th>Took</th>
          </tr>
        </thead>
        <tbody>
          {spans.map((span) => (
            <SpanRows span={span} scale={scale} />
          ))}
        </tbody>
      </table>
      <figcaption class="legend">
        {kinds.map((kind) => (
          <span>
            <i class={`span ${kind}`} />
            {KINDS[kind]}
          </span>
        ))}
        {scale.isCut && <span>(waiting is drawn shorter than it was)</span>}
      </figcaption>
    </figure>
  )
}

function SpanRows({ span, scale }: { span: Span; scale: Scale }) {
  const { kind, depth, words, fromMs, ms, subject, failed, callId } = span
  const left = scale.at(fromMs)
  const width = scale.at(ms === undefined ? scale.total : fromMs + ms) - left
  const sizes = [
    span.bytesRead === undefined ? undefined : `read ${bytes(span.bytesRead)}`,
    span.bytesWritten === undefined ? undefined : `wrote ${bytes(span.bytesWritten)}`,
  ]
    .filter((one) => one !== undefined)
    .join(', ')
  const indent = { paddingLeft: `${6 + Math.min(depth, 6) * 14}px` }
  const name = shown(span.capability ?? words)
  return (
    <>
      <tr>
        <td class={`ellipsis${failed ? ' bad' : ''}`} style={indent} title={shown(words)}>
          {callId === undefined ? name : <a href={addressOf('calls', callId)}>{name}</a>}
        </td>
        <td>
          <div class="track">
            <div
              class={`span ${kind}${failed ? ' failed' : ''}${ms === undefined ? ' open' : ''}`}
              style={{ left: `${left * 100}%`, width: `${Math.max(0, width) * 100}%` }}
            />
          </div>
        </td>
        <td class="took" title={`begins after ${duration(fromMs)}`}>
          {ms === undefined ? '…' : duration(ms)}
        </td>
      </tr>
      {(subject !== undefined || sizes !== '') && (
        <tr>
          <td class="more" colSpan={3} style={indent}>
            {shown([subject, sizes].filter(Boolean).join('  '))}
          </td>
        </tr>
      )}
    </>
  )
}

/** Linear, but for the times in which people were waited for: these are drawn shorter if they would take too much. */
function scaleOf(spans: readonly Span[], total: number): Scale {
  const waits = spans
    .filter(({ kind }) => kind === 'person')
    .map(({ fromMs, ms = total - fromMs }) => ({ from: fromMs, to: Math.min(total, fromMs + ms) }))
  const waited = waits.reduce((sum, { from, to }) => sum + Math.max(0, to - from), 0)
  const rest = total - waited
  const share =
    rest <= 0 ? 1 : waited / total > MOST_FOR_PEOPLE ? (MOST_FOR_PEOPLE * rest) / ((1 - MOST_FOR_PEOPLE) * waited) : 1
  const length = rest + waited * share || 1
  const at = (ms: number): number => {
    const passed = waits.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(ms, to) - from), 0)
    return Math.max(0, Math.min(1, (ms - passed + passed * share) / length))
  }
  return { at, total, isCut: share < 1 }
}
