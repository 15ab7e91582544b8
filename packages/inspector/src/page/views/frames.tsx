import { useEffect, useRef, useState } from 'preact/hooks'
import type { Frame } from '../../protocol.ts'
import { listen, want } from '../model/events.ts'
import { bytes, clock, plural, shown } from '../model/words.ts'
import { Code } from '../parts/texts.tsx'
import { keepInSight, placed, VirtualRows } from '../parts/virtual-rows.tsx'

const MOST = 2_000
const HEIGHT = 24

/** The messages of an MCP server as they are, in both directions: the first of its connection, and those since it is watched. */
export function Frames({ servers }: { servers: readonly string[] }) {
  const [server, setServer] = useState('')
  const [selected, select] = useState<Frame>()
  return (
    <section class="panel" aria-labelledby="frames">
      <header>
        <h2 id="frames">Messages of a server</h2>
        <select
          aria-label="Server"
          onChange={(event) => {
            setServer(event.currentTarget.value)
            select(undefined)
          }}
        >
          <option value="">None is watched</option>
          {servers.map((name) => (
            <option value={name} selected={name === server}>
              {shown(name)}
            </option>
          ))}
        </select>
      </header>
      {server !== '' && <Watched key={server} server={server} selected={selected} onSelect={select} />}
      {selected !== undefined && (
        <div class="body">
          <Code text={indented(selected.text)} label="Message" />
          {selected.cut && <p class="quiet small">It was longer, and is cut.</p>}
        </div>
      )}
    </section>
  )
}

interface Watching {
  readonly server: string
  readonly selected: Frame | undefined
  onSelect(frame: Frame): void
}

function Watched({ server, selected, onSelect }: Watching) {
  const scroller = useRef<HTMLDivElement>(null)
  const [frames, setFrames] = useState<readonly Frame[]>([])
  const [missed, setMissed] = useState(0)
  const [total, setTotal] = useState(0)
  useEffect(() => {
    /** By process. */
    const last = new Map<string, number>()
    const stops = [
      listen({
        frames: (event) => {
          const own = event.frames.filter(
            (frame) => frame.server === server && frame.seq > (last.get(frame.host ?? '') ?? 0),
          )
          for (const { host = '', seq } of own) last.set(host, seq)
          setFrames((before) => [...own.toReversed(), ...before].slice(0, MOST))
          setTotal((count) => count + own.length)
          setMissed((count) => count + event.missed)
        },
      }),
      want(`frames:${server}`),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }, [server])
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const at = frames.findIndex((frame) => frame === selected) + step
    const chosen = Math.max(0, Math.min(frames.length - 1, at))
    if (frames[chosen] !== undefined) onSelect(frames[chosen])
    keepInSight(scroller.current!, chosen * HEIGHT, HEIGHT)
  }
  return (
    <>
      <div
        ref={scroller}
        class="frames"
        tabIndex={0}
        role={frames.length > 0 ? 'listbox' : 'region'}
        aria-label={`Messages of ${shown(server)}, newest first`}
        aria-activedescendant={selected && idOf(selected)}
        onKeyDown={onKeyDown}
      >
        <VirtualRows scroller={scroller} count={frames.length} height={HEIGHT} added={total}>
          {(row) => {
            const frame = frames[row.index]!
            const direction = frame.direction === 'in' ? '← in' : '→ out'
            return (
              <div
                key={idOf(frame)}
                id={idOf(frame)}
                role="option"
                aria-selected={frame === selected}
                aria-posinset={row.index + 1}
                aria-setsize={frames.length}
                title={frame.host === undefined ? 'of this process' : `of the host ${shown(frame.host)}`}
                class={`frame${frame === selected ? ' selected' : ''}`}
                style={placed(row)}
                onClick={() => onSelect(frame)}
              >
                <span class="time quiet number">{clock(frame.at)}</span>
                <span class={frame.direction} role="img" aria-label={direction}>
                  {frame.direction === 'in' ? '←' : '→'}
                </span>
                <span class="mono ellipsis">{shown(frame.text)}</span>
                <span class="quiet number">{bytes(frame.bytes)}</span>
              </div>
            )
          }}
        </VirtualRows>
      </div>
      <p class="list-foot">
        {plural(frames.length, 'message')}
        {missed > 0 && `, ${missed} came too fast and are not here`}. The first 8 of a connection are kept. Others are
        here only if they come while you watch, and those of other processes only while capture is on.
      </p>
    </>
  )
}

const idOf = ({ host = '', seq }: Frame): string => `frame-${seq}-${host}`

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
