import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type UserConfig } from 'tsdown'

/**
 * How every package is built for publishing; the sources themselves never need it.
 *
 * The code of a package is bundled into a few files, because Node takes about a millisecond to find and link each module. Its
 * entries are what package.json exports or runs, and what a thread starts with: `src/a/b.ts` becomes `dist/a/b.js`. Threads
 * name their entry by URL, `new URL('../worker/main.ts', import.meta.url)`, which runs as it is from the sources; the build
 * writes the path from the file that the code ends up in. `scripts/release/declarations.mjs` adds the declarations.
 */
const shared: UserConfig = {
  root: 'src',
  format: 'esm',
  platform: 'node',
  target: false,
  dts: false,
  fixedExtension: false,
  treeshake: false,
  deps: { neverBundle: true },
  failOnWarn: true,
  report: false,
  // A busy machine is no fault of the build.
  checks: { pluginTimings: false },
  logLevel: 'warn',
}

/**
 * Libraries that every command or every call needs and that are many modules: zod 95, ajv 60, semver 25, unbash 17. Bundled and cut to what is used,
 * zod saves every command 0.06 s of CPU, the others 10 % of `bulkhead tools`. Their licences are in THIRD-PARTY.md of the package.
 */
const BUNDLED_DEPENDENCIES: Readonly<Record<string, RegExp>> = {
  '@bulkhead/contract': /^(?:semver|zod)(?:\/|$)/,
  '@bulkhead/host': /^(?:ajv|fast-deep-equal|fast-uri|json-schema-traverse)(?:\/|$)/,
  '@bulkhead/loader': /^semver(?:\/|$)/,
  '@bulkhead/tools-bundled': /^unbash$/,
}

const URL_OF_SOURCE = /(new URL\(\s*)(['"])(\.{1,2}\/[^'"]+)\.ts\2(,\s*import\.meta\.url\s*\))/g
/** A file beside the sources that is published as it is. */
const URL_OF_SCRIPT = /(new URL\(\s*)(['"])(\.{1,2}\/[^'"]+\.cjs)\2(,\s*import\.meta\.url\s*\))/g
const built = 'built:'

/** The code of compartments is bundled with the package: there are no sources to bundle at first use. */
const BUILT_IMAGE: NonNullable<UserConfig['plugins']> = {
  name: 'built-image',
  load: {
    filter: { id: /packages\/sandbox\/src\/process\/image-code\.ts$/ },
    async handler() {
      const { imageCode } = await import('./packages/sandbox/src/process/image-code.ts')
      return `export const imageCode = async () => (${JSON.stringify(await imageCode())})`
    },
  },
}

/** The same for the page of the inspector. */
const BUILT_PAGE: NonNullable<UserConfig['plugins']> = {
  name: 'built-page',
  load: {
    filter: { id: /packages\/inspector\/src\/bundle\/page-code\.ts$/ },
    async handler() {
      const { pageCode } = await import('./packages/inspector/src/bundle/page-code.ts')
      return `export const pageCode = async () => (${JSON.stringify(await pageCode())})`
    },
  },
}

/** In the folder of a package only that one, elsewhere all of them: one process builds them in a third of the CPU. */
const root = fileURLToPath(new URL('.', import.meta.url))
const folders = globSync('packages/*', { cwd: root }).map((name) => join(root, name))
export default defineConfig((folders.includes(process.cwd()) ? [process.cwd()] : folders).map(configOf))

function configOf(cwd: string): UserConfig {
  const { name, exports, bin } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as
    { name: string; exports: unknown; bin?: unknown }
  const plugins = [entryUrls(join(cwd, 'src')), BUILT_IMAGE, BUILT_PAGE]
  const entry = [...new Set([...sourcesIn(exports), ...sourcesIn(bin), ...threadEntries(cwd)])]
  const inside = BUNDLED_DEPENDENCIES[name]
  const deps = { neverBundle: true, ...(inside && { alwaysBundle: inside, onlyBundle: [inside] }) } as const
  return { ...shared, cwd, entry, plugins, deps, treeshake: inside !== undefined }
}

function entryUrls(sources: string): NonNullable<UserConfig['plugins']> {
  return {
    name: 'urls-of-built-files',
    /** Contract: only the literal form is rewritten; `pnpm release` refuses a package in which another form is left. */
    transform: {
      filter: { code: 'import.meta.url' },
      handler: (code: string, id: string) => code.replaceAll(
        URL_OF_SOURCE,
        (_, before: string, quote: string, path: string, after: string) =>
          `${before}${quote}${built}${relative(sources, join(dirname(id), path))}.js${quote}${after}`,
      ).replaceAll(
        URL_OF_SCRIPT,
        (_, before: string, quote: string, path: string, after: string) =>
          `${before}${quote}${built}${relative(sources, join(dirname(id), path))}${quote}${after}`,
      ),
    },
    renderChunk: (code: string, { fileName }: { fileName: string }) => code.replaceAll(
      new RegExp(`(['"])${built}([^'"]+)`, 'g'),
      (_, quote: string, path: string) =>
        `${quote}${`./${posix.relative(posix.dirname(fileName), path)}`.replace('./../', '../')}`,
    ),
  }
}

/** Every source that a part of package.json names. */
function sourcesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.endsWith('.ts') ? [value.replace('./', '')] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(sourcesIn) : []
}

/** Every source that another one names by URL. */
function threadEntries(cwd: string): readonly string[] {
  return globSync('src/**/*.ts', { cwd, exclude: ['src/*/test'] }).flatMap((file) =>
    [...readFileSync(join(cwd, file), 'utf8').matchAll(URL_OF_SOURCE)].map(([, , , path]) => `${join(dirname(file), path!)}.ts`))
}
