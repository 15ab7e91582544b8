import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, resolve } from 'node:path'
import { defineConfig, type UserConfig } from 'tsdown'

/**
 * How every package is built for publishing; the sources themselves never need it.
 *
 * The code of a package is bundled into a few files, because Node takes about a millisecond to find and link each module. Its
 * entries are what package.json exports or runs, and what a thread starts with: `src/a/b.ts` becomes `dist/a/b.js`. Threads
 * name their entry by URL, `new URL('../worker/main.ts', import.meta.url)`, which runs as it is from the sources; the build
 * writes the path from the file that the code ends up in. Declarations are not bundled: one file for each source.
 */
const shared: UserConfig = {
  // The folder of the package: by default it would be that of this file.
  cwd: process.cwd(),
  root: 'src',
  // Without the tests: they import from other packages, and the compiler would write declarations beside what they import.
  tsconfig: 'tsconfig.build.json',
  format: 'esm',
  platform: 'node',
  target: false,
  fixedExtension: false,
  treeshake: false,
  deps: { neverBundle: true },
  failOnWarn: true,
  suppressWarnings: /TypeScript 7\.0 does not yet have a stable API/,
  report: false,
  logLevel: 'warn',
}

/**
 * zod is 95 modules, half of them messages in other languages. Bundled and cut to what is used, it saves every command 0.06 s
 * of CPU. Its licence is in THIRD-PARTY.md of the package.
 */
const BUNDLED_DEPENDENCIES: Readonly<Record<string, UserConfig>> = {
  '@bulkhead/contract': { treeshake: true, deps: { neverBundle: true, alwaysBundle: ['zod'], onlyBundle: ['zod'] } },
}

/** The sandbox reads its files to build the image of a thread, and every file of the kit is an entry. */
const UNBUNDLED: ReadonlySet<string> = new Set(['@bulkhead/sandbox', '@bulkhead/kit'])
const { name, exports, bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { name: string; exports: unknown; bin?: unknown }
const EVERY_FILE = ['src/**/*.ts', '!src/**/*.d.ts']

const URL_OF_SOURCE = /(new URL\(\s*)(['"])(\.{1,2}\/[^'"]+)\.ts\2(,\s*import\.meta\.url\s*\))/g
const built = 'built:'
const entryUrls = {
  name: 'urls-of-built-files',
  /** Contract: only the literal form is rewritten; `package-check.mjs` refuses a package in which another form is left. */
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (code: string, id: string) => code.replaceAll(
      URL_OF_SOURCE,
      (_, before: string, quote: string, path: string, after: string) =>
        `${before}${quote}${built}${relative(resolve('src'), resolve(dirname(id), path))}.js${quote}${after}`,
    ),
  },
  renderChunk: (code: string, { fileName }: { fileName: string }) => code.replaceAll(
    new RegExp(`${built}([^'"]+)`, 'g'),
    (_, path: string) => `./${posix.relative(posix.dirname(fileName), path)}`.replace('./../', '../'),
  ),
}

export default defineConfig(UNBUNDLED.has(name)
  ? { ...shared, entry: EVERY_FILE, unbundle: true, dts: true, plugins: [entryUrls] }
  : [
    { ...shared, entry: EVERY_FILE, unbundle: true, dts: { emitDtsOnly: true } },
    {
      ...shared,
      ...BUNDLED_DEPENDENCIES[name],
      entry: [...new Set([...sourcesIn(exports), ...sourcesIn(bin), ...threadEntries()])],
      clean: false,
      dts: false,
      plugins: [entryUrls],
    },
  ])

/** Every source that a part of package.json names. */
function sourcesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.endsWith('.ts') ? [value.replace('./', '')] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(sourcesIn) : []
}

/** Every source that another one names by URL. */
function threadEntries(): readonly string[] {
  return globSync('src/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(URL_OF_SOURCE)].map(([, , , path]) => `${join(dirname(file), path!)}.ts`))
}
