import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium as playwright } from 'playwright-core'
import { chromium, CHROMIUM_OPTIONS } from '../../../scripts/chromium.ts'
import { defineSubject, type Runner } from '../harness/subject.ts'

const peer = fileURLToPath(new URL('../peers/inspected-host.ts', import.meta.url))
const PER_SECOND = 10_000
const MS = 3_000
const LIMIT_MS = 100

/** The longest time between two frames of the browser, while the events come. */
const LONGEST_FRAME = `new Promise((done) => {
  let longest = 0, before = performance.now(), end = before + ${MS}
  const frame = (now) => {
    longest = Math.max(longest, now - before)
    before = now
    if (now < end) requestAnimationFrame(frame)
    else done(longest)
  }
  requestAnimationFrame(frame)
})`

/** A real host, its inspector, and the list of calls in a browser. */
async function openPage(): Promise<Runner> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'bulkhead-bench-inspector-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const host = fork(peer, [folder], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  opened.defer(() => void host.kill('SIGKILL'))
  const [{ link }] = await once(host, 'message') as [{ link: string }]
  const executablePath = chromium()
  if (executablePath === undefined) throw new Error('The inspector is measured in Chromium. Install it, or name other subjects.')
  const browser = await playwright.launch({ executablePath, args: [...CHROMIUM_OPTIONS] })
  opened.defer(() => browser.close())
  const page = await browser.newPage()
  await page.goto(link)
  await page.getByRole('link', { name: 'Calls' }).click()
  await page.getByText('No calls yet').waitFor()
  const stays = opened.move()
  return {
    run: async (i) => i,
    async firstMs() {
      const answered = once(host, 'message') as Promise<[{ events: number; ms: number }]>
      // A little more, because the last turn of its loop is not complete.
      host.send({ ms: MS, perSecond: PER_SECOND * 1.1 })
      const [longest, [{ events, ms }]] = await Promise.all([page.evaluate<number>(LONGEST_FRAME), answered])
      const rate = events / ms * 1_000
      if (rate < PER_SECOND) throw new Error(`The host emitted ${Math.round(rate)} events a second.`)
      return longest
    },
    stop: () => stays.disposeAsync(),
  }
}

export const inspector = defineSubject({
  title: `The inspector at ${PER_SECOND.toLocaleString('en')} events a second: the longest frame of its page`,
  compares: `A browser shows the live list of calls for ${MS / 1_000} seconds, of a host in another process. The other`
    + ` side is the limit, ${LIMIT_MS} ms.`,
  sides: [
    { name: 'page', answer: (i) => i, start: openPage },
    {
      name: 'limit', answer: (i) => i,
      start: async () => ({ run: async (i) => i, firstMs: async () => LIMIT_MS, stop: async () => {} }),
    },
  ],
  modes: [{ kind: 'first' }],
  ratios: [{ side: 'page', measure: 'first', is: '≤', ratio: 1, against: 'limit' }],
  rounds: 6,
})
