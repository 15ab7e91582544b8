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
  for (const [from, to] of regionsOf(pid)) searchIn(memory, from, to, texts, inMemory)
  closeSync(memory)
  return texts.map((text) => [
    ...(inMemory.has(text) ? [`memory of ${pid}`] : []),
    ...contents.filter(([, content]) => content.includes(text)).map(([file]) => file),
  ])
}

/** What a process can read and has touched. */
function regionsOf(pid: number): readonly (readonly [from: bigint, to: bigint])[] {
  return readFileSync(`/proc/${pid}/smaps`, 'latin1').split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/).flatMap((region) => {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) r(?!.*\[v)/.exec(region) ?? []
    const isTouched = /^(?:Rss|Swap): +[1-9]/m.test(region)
    return from === undefined || !isTouched ? [] : [[BigInt(`0x${from}`), BigInt(`0x${to}`)] as const]
  })
}

const buffer = Buffer.alloc(1024 * 1024)
/** The parts overlap by more than a text. */
const STEP = BigInt(buffer.length - 4096)
function searchIn(memory: number, from: bigint, to: bigint, texts: readonly Buffer[], found: Set<Buffer>): void {
  for (let at = from; at < to; at += STEP) {
    const size = to - at < BigInt(buffer.length) ? Number(to - at) : buffer.length
    let read = 0
    try {
      read = readSync(memory, buffer, 0, size, at)
    } catch {
      // Reserved, and never touched.
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
