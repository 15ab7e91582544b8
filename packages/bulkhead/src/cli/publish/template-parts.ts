import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { MANIFEST_FILE } from '@bulkhead/contract'
import { CORE_VERSION } from '../../facade/version.ts'

/** Versions that the templates are tested with. */
const TOOLS = { 'typescript': '^7.0.2', 'vitest': '^5.1.0', '@types/node': '^26.6.6' } as const

/** The version of a package that came with this one, as a range. */
export function rangeOf(name: `@bulkhead/${string}`): string {
  const { version } = JSON.parse(readFileSync(findPackageJSON(name, import.meta.url)!, 'utf8')) as { version: string }
  return `^${version}`
}

export const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

interface PackageFacts {
  readonly description: string
  readonly language: 'ts' | 'js'
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
}

/** The files that all templates have. */
export const common = (id: string, { description, language, scripts = {}, dependencies = {} }: PackageFacts) => ({
  'package.json': json({
    name: id, version: '0.1.0', description, license: 'MIT', type: 'module',
    files: language === 'ts' ? ['index.js', 'index.d.ts'] : [MANIFEST_FILE, 'index.js'],
    ...(language === 'ts' && { bulkhead: { title: id } }),
    scripts: { ...scripts, test: 'vitest run', ...(language === 'ts' && { types: 'tsc' }), pack: 'bulkhead pack .' },
    devDependencies: {
      '@bulkhead/conformance': rangeOf('@bulkhead/conformance'), '@bulkhead/contract': rangeOf('@bulkhead/contract'),
      ...dependencies,
      'bulkhead': `^${CORE_VERSION}`, 'vitest': TOOLS.vitest,
      ...(language === 'ts' && { 'typescript': TOOLS.typescript, '@types/node': TOOLS['@types/node'] }),
    },
  }),
  [`test/conformance.test.${language}`]: `import { conformance } from '@bulkhead/conformance'

conformance(new URL('..', import.meta.url))
`,
  '.github/workflows/ci.yml': `name: CI
on: [push, pull_request]
permissions:
  contents: read
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v6
      - uses: actions/setup-node@v6
        with:
          node-version: 26
      - run: npm install
${language === 'ts' ? '      - run: npm run types\n' : ''}      - run: npm test
      - run: npm run pack
`,
  '.gitignore': 'node_modules\n*.tgz\nbulkhead.integrity.json\n',
  ...(language === 'ts' && {
    'tsconfig.json': json({
      compilerOptions: {
        strict: true, noEmit: true, module: 'nodenext', target: 'es2024', lib: ['es2024', 'esnext'], types: ['node'],
        allowImportingTsExtensions: true, resolveJsonModule: true, erasableSyntaxOnly: true, skipLibCheck: true,
      },
    }),
  }),
})

const README_END = `To use a library, \`npm install\` it and import it: \`bulkhead pack\` bundles it, and drops it from the
dependencies of the package. \`npm test\` runs the tests and the conformance requirements of Bulkhead.
\`npm run pack\` writes a tarball for others.
`

export const readme = (id: string, about: string, does: string): string => `# ${id}

${about}

${does}
${README_END}`
