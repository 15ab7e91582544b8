import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from '@tanstack/virtual-core'
import type { ComponentChildren, RefObject } from 'preact'
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks'

interface Rows {
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly count: number
  readonly height: number
  /** How many rows were ever put on top. While the reader is further down, these do not move what is read. */
  readonly added?: number
  children: (row: VirtualItem) => ComponentChildren
  /** The last row is in sight. */
  onEnd?(): void
}

/** Only the rows in sight, of many of the same height. The element that scrolls belongs to the caller. */
export function VirtualRows({ scroller, count, height, added = 0, children, onEnd }: Rows) {
  const [, draw] = useReducer((times: number) => times + 1, 0)
  const own = useRef<Virtualizer<HTMLDivElement, HTMLDivElement>>(null)
  const before = useRef(added)
  const options = {
    count,
    estimateSize: () => height,
    overscan: 6,
    getScrollElement: () => scroller.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => draw(undefined),
  }
  own.current ??= new Virtualizer(options)
  const rows = own.current
  rows.setOptions(options)
  useLayoutEffect(() => rows._didMount(), [rows])
  useLayoutEffect(() => rows._willUpdate())
  useLayoutEffect(() => rows.measure(), [height])
  useLayoutEffect(() => {
    const element = scroller.current
    if (element !== null && element.scrollTop > 0 && added > before.current)
      element.scrollTop += (added - before.current) * height
    before.current = added
  }, [added, height])
  const visible = rows.getVirtualItems()
  const isAtEnd = count > 0 && visible.at(-1)?.index === count - 1
  useLayoutEffect(() => {
    if (isAtEnd) onEnd?.()
  }, [isAtEnd, count])
  return (
    <div role="presentation" style={{ height: `${rows.getTotalSize()}px` }}>
      {visible.map(children)}
    </div>
  )
}

/** Scrolls as little as needed to show a row. */
export function keepInSight(scroller: HTMLElement, from: number, height: number): void {
  const { scrollTop, clientHeight } = scroller
  if (from < scrollTop) scroller.scrollTop = from
  if (from + height > scrollTop + clientHeight) scroller.scrollTop = from + height - clientHeight
}

export const placed = ({ start }: VirtualItem): { transform: string } => ({ transform: `translateY(${start}px)` })
