import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'

const child = fileURLToPath(new URL('memory-child.ts', import.meta.url))
const COUNT = thoroughly(100, 300)
const MAX_BYTES_EACH = 20 * 1024

test('uses little memory per extension until its code is needed', LONG, async () => {
  using home = new HomeFixture()
  for (let index = 0; index < COUNT; index++) {
    const manifest = manifestOf({
      id: `ext-${index}`,
      tools: [toolOf({ name: `tool_${index}`, description: `Tells the weather, number ${index}.` })],
    })
    home.extension(home.globalRoot, `ext-${index}`, manifest, {
      'index.js': 'x'.repeat(20_000), 'lib/a.js': '', 'lib/b.js': '', 'README.md': '',
    })
  }
  // Loaded first, so that only the memory of each further extension counts.
  const first = join(home.base, 'first')
  home.extension(first, 'first')
  const cache = join(home.base, 'cache')
  const args = ['--expose-gc', child, first, home.globalRoot, home.workspace, cache]
  for (const _ of thoroughly(['cold'], ['cold', 'warm'])) {
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const { count, bytesEach } = JSON.parse(stdout) as { readonly count: number; readonly bytesEach: number }
    expect(count).toBe(COUNT)
    expect(bytesEach).toBeLessThan(MAX_BYTES_EACH)
  }
})
