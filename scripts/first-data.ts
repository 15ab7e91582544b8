import type { Readable } from 'node:stream'

/** The first output of a process. Rejects when the stream ends before: then nothing will come. */
export function firstData(stream: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    stream.once('data', (data: unknown) => resolve(String(data)))
    stream.once('close', () => reject(new Error('The process ended before its first output.')))
  })
}
