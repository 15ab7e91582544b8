import { defineConfig } from 'tsdown'

/**
 * How every package is built for publishing; the sources themselves never need it.
 *
 * One file out for each file in (`src/a/b.ts` becomes `dist/a/b.js` and `dist/a/b.d.ts`), and nothing bundled. So whatever a
 * package.json exports is found at the same place under `dist`, and so are files that no import reaches because a thread or
 * a process starts with them. Those are named by URL, `new URL('../worker/main.ts', import.meta.url)`, which runs as it is
 * from the sources; the build writes `.js` there, as it does in imports.
 */
export default defineConfig({
  // The folder of the package: by default it would be that of this file.
  cwd: process.cwd(),
  entry: ['src/**/*.ts', '!src/**/*.d.ts'],
  root: 'src',
  // Without the tests: they import from other packages, and the compiler would write declarations beside what they import.
  tsconfig: 'tsconfig.build.json',
  unbundle: true,
  format: 'esm',
  platform: 'node',
  target: false,
  fixedExtension: false,
  treeshake: false,
  dts: true,
  deps: { neverBundle: true },
  failOnWarn: true,
  suppressWarnings: /TypeScript 7\.0 does not yet have a stable API/,
  report: false,
  logLevel: 'warn',
  plugins: [{ name: 'urls-of-built-files', transform: { filter: { code: 'import.meta.url' }, handler: pointAtBuiltFiles } }],
})

/** Contract: only the literal form is rewritten; `package-check.mjs` refuses a package in which another form is left. */
function pointAtBuiltFiles(code: string): string {
  return code.replaceAll(/(new URL\(\s*(['"])\.{1,2}\/[^'"]+)\.ts(\2,\s*import\.meta\.url\s*\))/g, '$1.js$3')
}
