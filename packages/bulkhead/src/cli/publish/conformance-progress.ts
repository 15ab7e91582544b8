import type { SuiteOptions } from '@bulkhead/conformance'
import { visibleText } from '@bulkhead/kit/text'
import { hint } from '../output.ts'

export interface SuiteProgress {
  readonly report: NonNullable<SuiteOptions['onProgress']>
  /** Clears the line. */
  end(): void
}

const REDRAW_MS = 1_000

/**
 * What the suite does now. On a terminal one line that is drawn again, with the time; otherwise one line for each step,
 * and for each tool that is called. Nothing with --quiet.
 */
export function suiteProgress(stream: NodeJS.WriteStream = process.stderr): SuiteProgress {
  return stream.isTTY ? liveLine(stream) : plainLines(stream)
}

function plainLines(stream: NodeJS.WriteStream): SuiteProgress {
  let last = ''
  return {
    report(text) {
      if (text !== last) stream.write(hint(`${visibleText(text)}\n`))
      last = text
    },
    end: () => undefined,
  }
}

function liveLine(stream: NodeJS.WriteStream): SuiteProgress {
  const began = performance.now()
  let shown = ''
  const draw = (): void => {
    const seconds = Math.round((performance.now() - began) / 1_000)
    const line = `${shown}, ${seconds} s`.slice(0, Math.max(1, (stream.columns || 80) - 1))
    stream.write(hint(`\r\u001B[2K${line}`))
  }
  const timer = setInterval(draw, REDRAW_MS).unref()
  return {
    report(text, done, all) {
      shown = visibleText(text) + (done === undefined ? '' : `, ${done} of ${all}`)
      draw()
    },
    end() {
      clearInterval(timer)
      stream.write(hint('\r\u001B[2K'))
    },
  }
}
