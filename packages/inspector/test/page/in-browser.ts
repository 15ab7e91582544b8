import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import {
  chromium as playwright, type Browser, type BrowserContext, type BrowserContextOptions, type Page,
} from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { chromium, CHROMIUM_OPTIONS } from '../../../../scripts/chromium.ts'
import { Answering } from './answering.ts'

const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** A page of the test's own, and what it logged as an error. */
export interface Opened {
  readonly page: Page
  readonly errors: string[]
}

const LIKE_A_DESK: BrowserContextOptions = { viewport: { width: 1_100, height: 700 }, reducedMotion: 'reduce' }

let shared: Promise<Browser> | undefined

/** One for all files that run in this process. It ends with the process. */
function startedBrowser(): Promise<Browser> {
  shared ??= playwright.launch({ executablePath: chromium()!, args: [...CHROMIUM_OPTIONS] })
  return shared
}

/** A context for a file of tests. Each server has a port, so what a tab keeps is of its test only. */
export function inBrowser(): {
  readonly serve: () => Promise<Answering>
  readonly tab: (options?: BrowserContextOptions) => Promise<Opened>
} {
  let browser: Browser
  let common: BrowserContext
  beforeAll(async () => {
    browser = await startedBrowser()
    common = await browser.newContext(LIKE_A_DESK)
  })
  afterAll(() => common?.close())
  return {
    async serve() {
      const server = await new Answering().listen()
      onTestFinished(async () => {
        await server.stop()
        expect(server.failures).toEqual([])
      })
      return server
    },
    async tab(options) {
      const context = options ? await browser.newContext({ ...LIKE_A_DESK, ...options }) : common
      const page = await context.newPage()
      onTestFinished(() => (options ? context : page).close())
      page.setDefaultTimeout(60_000)
      const errors: string[] = []
      page.on('pageerror', ({ message }) => errors.push(message))
      page.on('console', (line) => { if (['error', 'warning'].includes(line.type())) errors.push(line.text()) })
      return { page, errors }
    },
  }
}

interface Found {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
}

/** What axe-core finds, one line for each element. */
export async function barriers(page: Page): Promise<readonly string[]> {
  if (await page.evaluate('typeof axe') === 'undefined') await page.evaluate(axe)
  const { violations } = await page.evaluate<Found>("axe.run({ resultTypes: ['violations'] })")
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

/** Names and roles as a person finds them. */
export const link = (page: Page, name: string) => page.getByRole('link', { name })
export const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' })
