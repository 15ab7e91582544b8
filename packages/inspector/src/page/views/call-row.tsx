import type { CallItem } from '../../protocol.ts'
import { now } from '../model/clock.ts'
import { waiting } from '../model/waiting.ts'
import { clock, duration, shown } from '../model/words.ts'
import { StateMark } from '../parts/marks.tsx'

interface Row {
  readonly call: CallItem
  readonly at: number
  readonly count: number
  readonly isSelected: boolean
  readonly style: { readonly transform: string }
  onOpen(): void
}

export function CallRow({ call, at, count, isSelected, style, onOpen }: Row) {
  const { id, state, tool, subject, code, parent } = call
  return (
    <div
      id={`call-${id}`}
      class={`call ${state === 'denied' ? 'failed' : state}${parent === undefined ? '' : ' nested'}`}
      role="option"
      aria-selected={isSelected}
      aria-setsize={count}
      aria-posinset={at + 1}
      style={style}
      onClick={onOpen}
    >
      <span class="time">{clock(call.at)}</span>
      <StateMark state={state} />
      <span class="tool ellipsis">{shown(tool)}</span>
      <span class="subject ellipsis">
        {code !== undefined && <span class="code-name">{shown(code)} </span>}
        {shown(subject || askedAbout(call))}
      </span>
      <Bar call={call} />
      <Took call={call} />
    </div>
  )
}

/** Before it is decided, only the question says what a call is about. */
const askedAbout = ({ session, call }: CallItem): string => {
  const item = waiting.value?.items.find((one) => one.session === session && one.call === call)
  return item?.kind === 'approval' ? (item.command ?? item.touches[0] ?? '') : ''
}

/** How long it took on a scale of powers: 1 ms is a tenth of what a minute is. The part of it that people took is marked. */
function Bar({ call: { ms, waitedMs = 0 } }: { call: CallItem }) {
  if (ms === undefined) return <span class="bar" />
  const all = Math.min(1, (1 + Math.log10(Math.max(1, ms))) / 5.8)
  const waited = ms === 0 ? 0 : Math.min(1, waitedMs / ms)
  const width = (share: number): { width: string } => ({ width: `${Math.round(share * 1_000) / 10}%` })
  return (
    <span class="bar">
      {waited > 0 && <i class="waited" style={width(all * waited)} />}
      <i class="ran" style={width(all * (1 - waited))} />
    </span>
  )
}

const OPEN: ReadonlySet<string> = new Set(['queued', 'waiting', 'running'])

function Took({ call: { ms, at, state } }: { call: CallItem }) {
  const passed = ms ?? (OPEN.has(state) ? Math.max(0, Math.floor((now.value - at) / 1_000) * 1_000) : undefined)
  return <span class="took">{passed === undefined ? '' : duration(passed)}</span>
}
