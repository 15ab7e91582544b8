import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AcknowledgementLog } from './acknowledgement-log.ts'

const WRITER = fileURLToPath(new URL('./fixtures/writer.ts', import.meta.url))

export interface WriterRun {
  readonly log: AcknowledgementLog
  readonly signal: NodeJS.Signals | null
  readonly exitCode: number | null
}

type WriterEnd = { readonly bursts: number } | { readonly lines: number }

/** Runs a writer until it has written some bursts, or kills it after some lines of output. */
export async function runWriter(file: string, writer: string, until: WriterEnd): Promise<WriterRun> {
  const bursts = 'bursts' in until ? until.bursts : Infinity
  const child = spawn(process.execPath, [WRITER, file, writer, String(bursts)], {
    stdio: ['ignore', 'pipe', 'inherit'], env: { NODE_COMPILE_CACHE: join(dirname(file), 'compiled'), ...process.env },
  })
  const log = new AcknowledgementLog(writer)
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk: string) => {
    if (log.add(chunk) >= ('lines' in until ? until.lines : Infinity)) child.kill('SIGKILL')
  })
  await once(child, 'close')
  return { log, signal: child.signalCode, exitCode: child.exitCode }
}
