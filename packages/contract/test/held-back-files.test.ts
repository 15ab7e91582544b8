import { expect, it } from 'vitest'
import { isHeldBack } from '../src/index.ts'

const ROOT = '/home/me/.github/workflows/project'

it.each([
  '.github/workflows/ci.yml', '.GitHub/Workflows/ci.yml', 'deep/.circleci/config.yml', 'Jenkinsfile', 'package.json',
  'a/b/package.json', 'package.json.', 'package\u200b.json', 'pyproject.toml', 'requirements.txt',
  'requirements-dev.txt', 'app.csproj', 'yarn.lock', 'bulkhead.lock', 'go.sum', 'Makefile', 'makefile.am',
  'CMakeLists.txt', 'vite.config.mts', 'eslint.config.js', '.husky/pre-commit', 'Dockerfile', '.vscode/settings.json',
  'x.code-workspace', '.envrc', '.bashrc', '.git/hooks/pre-commit', '.env', '.env.local', '.npmrc', '.ssh/config',
  '.bulkheadignore',
])('an answer for a folder does not cover %s', (path) => {
  expect(isHeldBack(`${ROOT}/${path}`, ROOT)).toBe(true)
})

it.each([
  '', 'src/app.ts', '.github/CODEOWNERS', 'workflows/ci.yml', 'docs/package.json.md', 'lock.ts', 'src/lock',
  'makefiles/a.txt', 'config.ts', 'requirements.md', 'environment.ts', 'locks/a.ts', 'github/workflows/a.yml',
])('an answer for a folder covers %j', (path) => {
  expect(isHeldBack(`${ROOT}/${path}`, ROOT)).toBe(false)
})
