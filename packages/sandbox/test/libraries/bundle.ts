import { builtinModules } from 'node:module'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { esmExternalRequirePlugin } from 'rolldown/plugins'

const fixtures = fileURLToPath(new URL('fixtures', import.meta.url))

/** An extension with one tool for each fixture, and the libraries they import, as `bulkhead pack` bundles it. */
export async function bundle(names: readonly string[]): Promise<string> {
  const imports = names.map((name, at) => `import m${at} from './${name}.js'`)
  const tools = names.map((name, at) => `'${name}': m${at}.tools.run`)
  const entry = `${imports.join('\n')}\nexport default { tools: { ${tools.join(', ')} } }`
  const build = await rolldown({
    input: 'entry', cwd: fixtures, logLevel: 'silent', platform: 'neutral',
    resolve: {
      mainFields: ['browser', 'module', 'main'], aliasFields: [['browser']],
      conditionNames: ['browser', 'node', 'default'],
    },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => id === 'entry' ? `${fixtures}/entry.js` : undefined,
        load: (id) => id === `${fixtures}/entry.js` ? entry : undefined,
      },
      esmExternalRequirePlugin({ external: [/^node:/, ...builtinModules] }),
    ],
  })
  const { output: [chunk] } = await build.generate({ format: 'esm', codeSplitting: false })
  await build.close()
  return chunk.code
}
