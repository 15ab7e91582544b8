import { mentionsResourceShortage } from '@bulkhead/broker'
import type { Readable } from 'node:stream'
import type { OsLayers } from './hull-command.ts'
import { oneLine } from './one-line.ts'
import { processEnd } from './process-end.ts'
import { killHull, spawnHull } from './spawn-hull.ts'
import { NAMESPACES, notStanding, type Standing } from './util-linux.ts'

/** All that a hull does: a thread, a socket that is there already, and an end. */
const PROVE = `
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
const standing = () => {
  try {
    const namespaces = ${JSON.stringify(NAMESPACES)}.map((name) => readlinkSync('/proc/self/ns/' + name))
    return { status: readFileSync('/proc/self/status', 'latin1'), namespaces }
  } catch {
    return null
  }
}
const control = new Socket({ fd: 3 })
new Worker('', { eval: true }).once('exit', (code) => {
  control.end(JSON.stringify([code, standing(), ...readdirSync('/')]), () => process.exit())
})`
const ARGS = ['--input-type=module', '--no-warnings', '--eval', PROVE]
const MEMORY_MB = 128
const MAX_CHARS = 16_384

export interface Complaint {
  readonly why: string
  /** `unknown`: it ended without a word, or not at all. */
  readonly blames: 'layers' | 'system' | 'unknown'
}

const inWords = (words: string): Complaint => ({ why: oneLine(words), blames: mentionsResourceShortage(words) ? 'system' : 'layers' })
const silent = (why: string): Complaint => ({ why, blames: 'unknown' })

/** Starts a hull that only proves itself under these layers. Returns why they do not work, if so. Rejects when nothing starts. */
export async function tryLayers(node: string, layers: OsLayers, patienceMs: number): Promise<Complaint | undefined> {
  const child = spawnHull(node, ARGS, layers, { memoryMb: MEMORY_MB })
  if (child.pid === undefined) return new Promise((resolve) => child.once('error', ({ message }) => resolve(inWords(message))))
  const [, stdout, stderr, control, channel] = child.stdio as unknown as readonly [null, Readable, Readable, Readable, Readable]
  const [proof, complaint] = [control, stderr, stdout, channel].map(collect)
  let late = false
  const patience = setTimeout(() => {
    late = true
    killHull(child)
  }, patienceMs)
  const end = await new Promise<string>((resolve) => child.once('close', (...how) => resolve(processEnd(...how))))
  clearTimeout(patience)
  if (late) return silent(`it had not ended after ${patienceMs} ms`)
  if (end === 'code 0') return judge(proof!(), layers)
  const words = complaint!()
  return words.trim() === '' ? silent(`it ended with ${end}`) : inWords(words)
}

function judge(proof: string, { bubblewrap, utilLinux }: OsLayers): Complaint | undefined {
  if (!/^\[0,.*\]$/.test(proof)) return inWords(`it did not do what a hull does: ${proof}`)
  const [, standing, ...root] = JSON.parse(proof) as [0, Standing | null, ...string[]]
  if (!bubblewrap.active) {
    const why = utilLinux.active ? notStanding(utilLinux, standing) : undefined
    return why === undefined ? undefined : inWords(why)
  }
  const ours = new Set([...bubblewrap.files.keys()].map((path) => path.split('/')[1]))
  const others = root.filter((name) => !ours.has(name))
  return others.length === 0 ? undefined : inWords(`files of the host can be seen inside: ${others.join(', ')}`)
}

/** Reads to the end and keeps the beginning. */
function collect(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    text = (text + chunk).slice(0, MAX_CHARS)
  })
  stream.on('error', () => undefined)
  return () => text
}
