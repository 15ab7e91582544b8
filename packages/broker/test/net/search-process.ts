import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** A process and everything that it started. */
export function descendants(root: number): readonly number[] {
  const parents = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      return [
        [
          Number(name),
          Number(
            readFileSync(`/proc/${name}/stat`, 'latin1')
              .replace(/^.*\) /s, '')
              .split(' ')[1],
          ),
        ] as const,
      ]
    } catch {
      // It has ended.
      return []
    }
  })
  const below = (pid: number): readonly number[] => [
    pid, ...parents.filter(([, parent]) => parent === pid).flatMap(([one]) => below(one)),
  ]
  return below(root)
}

/** For each of the texts, where a process has it: in its memory, environment, command line or files of the folders. */
export function placesOf(
  pid: number, texts: readonly Buffer[], folders: readonly string[],
): readonly (readonly string[])[] {
  const files = folders.flatMap((folder) => filesIn(join(`/proc/${pid}/root`, folder)))
  const contents = [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`, ...files].map(
    (file) => [file, readFileSync(file)] as const,
  )
  const inMemory = new Set<Buffer>()
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  for (const [from, to] of touchedParts(pid)) searchIn(memory, from, to, texts, inMemory)
  closeSync(memory)
  return texts.map((text) => [
    ...(inMemory.has(text) ? [`memory of ${pid}`] : []),
    ...contents.filter(([, content]) => content.includes(text)).map(([file]) => file),
  ])
}

/** What a process can read and has touched. Most of what it reserves it never touches. */
function touchedParts(pid: number): readonly (readonly [from: number, to: number])[] {
  const pages = openSync(`/proc/${pid}/pagemap`, 'r')
  const parts = regionsOf(pid).flatMap(([from, to]) => {
    const entries = Buffer.alloc((to - from) / PAGE * ENTRY)
    const read = readSync(pages, entries, 0, entries.length, from / PAGE * ENTRY)
    const touched: [from: number, to: number][] = []
    for (let at = 0; at < read; at += ENTRY) {
      if ((entries[at + ENTRY - 1]! & PRESENT_OR_SWAPPED) === 0) continue
      const page = from + at / ENTRY * PAGE
      const last = touched.at(-1)
      if (last?.[1] === page) last[1] += PAGE
      else touched.push([page, page + PAGE])
    }
    return touched
  })
  closeSync(pages)
  return parts
}
const PAGE = 4096
/** The bytes of an entry of the page map, and the bits of its last byte. */
const ENTRY = 8
const PRESENT_OR_SWAPPED = 0xc0

function regionsOf(pid: number): readonly (readonly [from: number, to: number])[] {
  return readFileSync(`/proc/${pid}/smaps`, 'latin1').split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/).flatMap((region) => {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) r(?!.*\[v)/.exec(region) ?? []
    const isTouched = /^(?:Rss|Swap): +[1-9]/m.test(region)
    return from === undefined || !isTouched ? [] : [[Number(`0x${from}`), Number(`0x${to}`)] as const]
  })
}

const buffer = Buffer.alloc(1024 * 1024)
/** The parts overlap by more than a text. */
const STEP = buffer.length - 4096
function searchIn(memory: number, from: number, to: number, texts: readonly Buffer[], found: Set<Buffer>): void {
  for (let at = from; at < to; at += STEP) {
    let read = 0
    try {
      read = readSync(memory, buffer, 0, Math.min(to - at, buffer.length), at)
    } catch {
      // Freed meanwhile.
    }
    for (const text of texts) if (!found.has(text) && buffer.subarray(0, read).includes(text)) found.add(text)
  }
}

const filesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((file) => statSync(file).isFile())
  } catch {
    return []
  }
}
