import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export const TOKEN = 'a-token-of-the-operator'
export const TOOL = 'export default { tools: { take: { execute: () => x } } }\n'

interface Way {
  readonly code: string
  readonly files?: Readonly<Record<string, unknown>>
  readonly links?: Readonly<Record<string, string>>
  /** The real path that the error names, from the home. */
  readonly names?: string
  readonly importer?: string
}
export const imports = (from: string) => `import x from ${JSON.stringify(from)}\n${TOOL}`
export const CONFIG = '../../.docker/config.json'
/** Ways to name a file outside of the folder, with the code of the tool. */
export const WAYS: Readonly<Record<string, (home: string) => Way>> = {
  'a relative path': () => ({ code: imports(CONFIG) }),
  'an absolute path': (at) => ({ code: imports(join(at, '.docker/config.json')) }),
  'a file: URL': (at) => ({ code: imports(pathToFileURL(join(at, '.docker/config.json')).href) }),
  'a text file': () => ({ code: imports('../../.docker/token.txt'), names: '.docker/token.txt' }),
  'a text file with an attribute': () => ({
    code: `import x from '../../.docker/token.txt' with { type: 'text' }\n${TOOL}`, names: '.docker/token.txt',
  }),
  'a module': () => ({ code: imports('../../.docker/token.ts'), names: '.docker/token.ts' }),
  'a package.json': () => ({ code: imports('../../.docker/package.json'), names: '.docker/package.json' }),
  'a re-export': () => ({ code: `export { default as y } from '${CONFIG}'\nconst x = 1\n${TOOL}` }),
  'require': () => ({ code: `const x = require('${CONFIG}')\n${TOOL}` }),
  'a dynamic import': () => ({ code: `const x = await import('${CONFIG}')\n${TOOL}` }),
  'a link to a file': () => ({
    code: imports('./.own/config.json'), links: { '.own/config.json': `../../../.docker/config.json` },
  }),
  'a link to a folder': () => ({ code: imports('./.own/config.json'), links: { '.own': '../../.docker' } }),
  'a linked package': () => ({
    code: imports('docker/config.json'), links: { 'node_modules/docker': '../../../.docker' },
  }),
  'the source of JSX': () => ({
    code: imports('./x.tsx'), importer: 'x.tsx', names: '.docker/jsx-runtime.ts',
    files: { 'x.tsx': '/** @jsxImportSource ../../.docker */\nexport default <a />' },
  }),
  'paths of tsconfig.json': () => ({
    code: imports('@own/config.json'),
    files: { 'tsconfig.json': { compilerOptions: { paths: { '@own/*': ['../../.docker/*'] } } } },
  }),
  'main of a dependency': () => ({
    code: imports('dep'),
    files: { 'node_modules/dep/package.json': { name: 'dep', main: '../../../../.docker/config.json' } },
  }),
  'an alias of a dependency': () => ({
    code: imports('dep'), importer: 'node_modules/dep/index.js',
    files: {
      'node_modules/dep/package.json': {
        name: 'dep', main: './index.js', browser: { './a.json': '../../../../.docker/config.json' },
      },
      'node_modules/dep/index.js': `module.exports = require('./a.json')`,
    },
  }),
  'a file of a dependency': () => ({
    code: imports('dep'), importer: 'node_modules/dep/index.js',
    files: {
      'node_modules/dep/package.json': { name: 'dep', main: './index.js' },
      'node_modules/dep/index.js': `module.exports = require('../../../../.docker/config.json')`,
    },
  }),
  'a package of an outer folder': () => ({
    code: imports('outer'), names: 'node_modules/outer/index.js',
    files: {
      '../../node_modules/outer/package.json': { name: 'outer' },
      '../../node_modules/outer/index.js': `export default '${TOKEN}'`,
    },
  }),
}

/** The bundler does not resolve these to a file, or leaves them as they are. */
export const IDLE: Readonly<Record<string, Way>> = {
  'new URL': { code: `const x = new URL('${CONFIG}', import.meta.url)\n${TOOL}` },
  'require.resolve': { code: `const x = require.resolve('${CONFIG}')\n${TOOL}` },
  'a computed path': {
    code: `const name = 'config'\nconst x = await import(\`../../.docker/\${name}.json\`)\n${TOOL}`,
  },
  'imports of package.json': { code: imports('#own'), files: { 'package.json': { imports: { '#own': CONFIG } } } },
  'exports of a dependency': {
    code: imports('dep'),
    files: { 'node_modules/dep/package.json': { name: 'dep', exports: '../../../../.docker/config.json' } },
  },
  'a query': { code: imports(`${CONFIG}?raw`) },
}
