// Part of `pnpm build`: writes the declarations of all packages, one file for each source, in one run of the compiler.
// A run for each package takes five times the CPU. `pnpm types` checks the same sources.
import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const emitted = join(root, 'node_modules/.cache/declarations')

rmSync(emitted, { recursive: true, force: true })
execFileSync('tsc', ['-p', 'tsconfig.declarations.json', '--singleThreaded'], { cwd: root, stdio: 'inherit' })
for (const file of globSync('*/src/**/*.d.ts', { cwd: emitted })) {
  const target = join(root, 'packages', file.replace('/src/', '/dist/'))
  mkdirSync(dirname(target), { recursive: true })
  // The compiler leaves the names of the sources in imports.
  const text = readFileSync(join(emitted, file), 'utf8').replace(/(['"]\.{1,2}\/[^'"\n]+)\.ts(['"])/g, '$1.js$2')
  writeFileSync(target, text)
}
