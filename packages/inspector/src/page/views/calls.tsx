import { useEffect, useRef, useState } from 'preact/hooks'
import {
  added,
  callAt,
  callCount,
  followCalls,
  indexOf,
  listState,
  loadOlder,
  reach,
  revision,
  sessions,
  tools,
} from '../model/call-list.ts'
import { want } from '../model/events.ts'
import { EVERY_CALL, filter, isEverything, setFilter } from '../model/filter.ts'
import { addressOf, open, replaceAddress, route } from '../model/route.ts'
import { plural, shown, shortId } from '../model/words.ts'
import { isNarrow } from '../parts/hooks.ts'
import { Empty } from '../parts/texts.tsx'
import { keepInSight, placed, VirtualRows } from '../parts/virtual-rows.tsx'
import { CallDetailPane } from './call-detail.tsx'
import { CallRow } from './call-row.tsx'
import { CaptureSwitch } from './capture.tsx'

/** The live timeline of all calls, newest first, and one call beside it. */
export function CallsPage() {
  useEffect(() => {
    const stops = [followCalls(), want('calls')]
    return () => {
      for (const stop of stops) stop()
    }
  }, [])
  const id = route.value.rest
  return (
    <>
      <Filters />
      <div class={`split${id === '' ? '' : ' open'}`}>
        <div class="list-side">
          <Timeline selected={id} />
          <div class="list-foot">
            <span>{plural(callCount.value, 'call')}</span>
            <span>{shown(reach.value)}</span>
            <span class="push">
              <CaptureSwitch />
            </span>
          </div>
        </div>
        {id !== '' && <CallDetailPane key={id} id={id} />}
      </div>
    </>
  )
}

function Filters() {
  const { failed, tool, session, text } = filter.value
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement)
        return
      event.preventDefault()
      field.current?.focus()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const names = [...new Set([...tools.value, ...(tool === '' ? [] : [tool])])].toSorted()
  const known = sessions.value.some(({ id }) => id === session) || session === ''
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        ref={field}
        type="search"
        placeholder="Filter by text  /"
        aria-label="Filter by text"
        value={text}
        onInput={(event) => setFilter({ text: event.currentTarget.value })}
      />
      <select aria-label="Tool" onChange={(event) => setFilter({ tool: event.currentTarget.value })}>
        <option value="" selected={tool === ''}>
          Every tool
        </option>
        {names.map((name) => (
          <option value={name} selected={name === tool}>
            {shown(name)}
          </option>
        ))}
      </select>
      <select aria-label="Session" onChange={(event) => setFilter({ session: event.currentTarget.value })}>
        <option value="" selected={session === ''}>
          Every session
        </option>
        {!known && (
          <option value={session} selected>
            {shown(shortId(session))}
          </option>
        )}
        {sessions.value.map(({ id, agent, principal, open: isOpen }) => (
          <option value={id} selected={id === session}>
            {shown([shortId(id), agent, principal, isOpen ? '' : 'closed'].filter(Boolean).join(' · '))}
          </option>
        ))}
      </select>
      <label class="check">
        <input
          type="checkbox"
          checked={failed}
          onChange={(event) => setFilter({ failed: event.currentTarget.checked })}
        />
        Failed
      </label>
      {!isEverything(filter.value) && (
        <button
          type="button"
          class="plain"
          onClick={() => {
            filter.value = EVERY_CALL
          }}
        >
          Show all
        </button>
      )}
    </form>
  )
}

function Timeline({ selected }: { selected: string }) {
  const scroller = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState(added.peek())
  const [isAtTop, setAtTop] = useState(true)
  void revision.value
  const count = callCount.value
  const height = isNarrow.value ? 46 : 30
  const unseen = isAtTop ? 0 : added.value - seen
  const onScroll = (): void => {
    const top = scroller.current!.scrollTop < 4
    if (top !== isAtTop) setAtTop(top)
    if (top || isAtTop) setSeen(added.peek())
  }
  const choose = (index: number): void => {
    const call = callAt(Math.max(0, Math.min(count - 1, index)))
    if (call === undefined) return
    if (selected === '') open('calls', call.id)
    else replaceAddress(addressOf('calls', call.id))
    keepInSight(scroller.current!, indexOf(call.id) * height, height)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = selected === '' ? -1 : indexOf(selected)
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: Math.max(0, at - 1),
      j: at + 1,
      k: Math.max(0, at - 1),
      Home: 0,
      End: count - 1,
      PageDown: at + 15,
      PageUp: at - 15,
    }
    if (event.key === 'Escape') open('calls')
    if (steps[event.key] === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    choose(steps[event.key]!)
  }
  if (count === 0) return <NoCalls />
  return (
    <>
      {unseen > 0 && (
        <button
          class="new-calls main"
          onClick={() => {
            scroller.current!.scrollTop = 0
          }}
        >
          {plural(unseen, 'new call')} ↑
        </button>
      )}
      <div
        ref={scroller}
        class="timeline"
        role="listbox"
        tabIndex={0}
        aria-label="Calls, newest first"
        aria-activedescendant={selected === '' ? undefined : `call-${selected}`}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
      >
        <VirtualRows
          scroller={scroller}
          count={count}
          height={height}
          added={added.value}
          onEnd={() => void loadOlder()}
        >
          {(row) => {
            const call = callAt(row.index)
            return (
              call && (
                <CallRow
                  key={call.id}
                  call={call}
                  at={row.index}
                  count={count}
                  isSelected={call.id === selected}
                  style={placed(row)}
                  onOpen={() => choose(row.index)}
                />
              )
            )
          }}
        </VirtualRows>
      </div>
    </>
  )
}

function NoCalls() {
  const state = listState.value
  if (typeof state === 'object')
    return (
      <Empty title="The calls could not be read">
        <p>{state.fault}</p>
      </Empty>
    )
  if (state === 'loading') return <Empty title="Reading…" />
  return isEverything(filter.value) ? (
    <Empty title="No calls yet">
      <p>Each call of a tool comes up here while it runs.</p>
    </Empty>
  ) : (
    <Empty title="No call matches">
      <button
        onClick={() => {
          filter.value = EVERY_CALL
        }}
      >
        Show all
      </button>
    </Empty>
  )
}
