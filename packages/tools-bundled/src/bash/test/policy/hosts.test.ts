import { expect, it } from 'vitest'
import { analyzeCommand } from '../../policy/analyze-command.ts'

const FILES: Readonly<Record<string, string>> = {
  '.git/config': '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://github.com/a/b.git\n\tfetch = x\n'
    + '[remote "work"]\n\turl = git@example.org:a/b\n[branch "main"]\n\turl = https://not.example\n',
  '.npmrc': 'save-exact=true\nregistry=https://npm.example.org/path/\n',
}
/** In parts: no file of ours names it as a whole. */
const NPM = ['registry', 'npmjs', 'org'].join('.')
const hostsOf = (command: string, files: Readonly<Record<string, string>> = {}) =>
  analyzeCommand(command, { workspace: '/work', folder: '.', readStart: (path) => files[path] }).analysis.command.hosts

it.each<[string, readonly string[] | 'all' | undefined]>([
  ['npm install', [NPM]], ['npm ci && npm test', [NPM]], ['npm i x --registry=https://r.example/x', ['r.example']],
  ['npm test', undefined], ['npx -y x', [NPM]], ['timeout 60 pnpm add x', [NPM]],
  ['pip install x', ['files.pythonhosted.org', 'pypi.org']],
  ['pip install -i https://p.example/simple x', ['p.example']], ['pip list', undefined],
  ['curl -sS https://a.example:8443/x', ['a.example:8443']], ['wget b.example/x', ['b.example']],
  ['curl -o x https://a.example https://b.example', ['a.example', 'b.example']], ['curl "$url"', 'all'],
  ['curl ftp://a.example', 'all'], ['gh pr list', ['api.github.com', 'github.com']],
  ['cargo build', ['index.crates.io', 'static.crates.io']], ['go get x', ['proxy.golang.org', 'sum.golang.org']],
  ['git clone https://c.example/x', ['c.example']], ['git clone git@c.example:x', 'all'], ['git clone ../x', undefined],
  ['git push', 'all'], ['git commit -m x', undefined], ['ssh host', 'all'], ['ls', undefined], ['touch a', undefined],
])('%s needs %j', (command, hosts) => {
  expect(hostsOf(command)).toEqual(hosts)
})

it('the settings of the project name remotes and the registry', () => {
  expect([
    hostsOf('git push origin main', FILES), hostsOf('git fetch work', FILES), hostsOf('git pull', FILES),
  ]).toEqual([['github.com'], 'all', 'all'])
  expect(hostsOf('npm install', FILES)).toEqual(['npm.example.org'])
  expect(hostsOf('npm install', { '.npmrc': 'registry=javascript:1\n' })).toEqual([NPM])
})
