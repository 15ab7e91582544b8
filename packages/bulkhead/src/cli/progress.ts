import { styleText } from 'node:util'

const WIDTH = 24
const EVERY_MS = 80

export interface Progress {
  report(received: number, total: number | undefined): void
  /** Clears the line. */
  end(): void
}

/** A progress bar. Writes nothing unless the stream is a terminal. */
export function createProgress(label: string, stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY) return { report: () => {}, end: () => {} }
  let drawnAt = 0
  let drawn = false
  return {
    report(received, total) {
      const now = performance.now()
      if (now - drawnAt < EVERY_MS && received !== total) return
      drawnAt = now
      drawn = true
      stream.write(`\r\u001b[2K${label} ${barOf(received, total, stream)} ${sizeInWords(received)}`)
    },
    end() {
      if (drawn) stream.write('\r\u001b[2K')
      drawn = false
    },
  }
}

function barOf(received: number, total: number | undefined, stream: NodeJS.WriteStream): string {
  if (total === undefined || total === 0) return styleText('dim', '…', { stream })
  const part = Math.min(1, received / total)
  const full = Math.round(part * WIDTH)
  const done = styleText('cyan', '█'.repeat(full), { stream })
  const rest = styleText('dim', '░'.repeat(WIDTH - full), { stream })
  return `${done}${rest} ${String(Math.round(part * 100)).padStart(3)} %`
}

export function sizeInWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
