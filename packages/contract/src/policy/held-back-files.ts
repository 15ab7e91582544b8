import { matchSegment } from '@bulkhead/kit/glob'
import { looseSegments, mustBeNamed, placeIndex } from './protected-places.ts'
import { SENSITIVE } from './sensitive-files.ts'

/** Systems that run what these say on each push, with credentials of the project. */
const CI = [
  '.github/workflows', '.github/actions', '.gitea/workflows', '.forgejo/workflows', '.gitlab-ci.yml', '.gitlab/ci',
  '.circleci', '.travis.yml', '.appveyor.yml', 'appveyor.yml', 'azure-pipelines.yml', '.azure-pipelines',
  'bitbucket-pipelines.yml', '.buildkite', 'buildspec.yml', 'cloudbuild.yaml', 'cloudbuild.yml', '.cirrus.yml',
  '.drone.yml', '.woodpecker', '.woodpecker.yml', '.semaphore', '.teamcity', 'jenkinsfile', '.builds', '.build.yml',
  'codemagic.yaml', 'netlify.toml', 'vercel.json',
]

/** Package managers run scripts and fetch code that these name. */
const MANIFESTS = [
  'package.json', 'pnpm-workspace.yaml', '.pnpmfile.cjs', '.yarnrc', '.yarnrc.yml', 'bunfig.toml', 'lerna.json',
  'bower.json', 'deno.json', 'deno.jsonc', 'jsr.json', 'bulkhead.json', 'pyproject.toml', 'setup.py', 'setup.cfg',
  'pipfile', 'requirements*.txt', 'environment.yml', 'conda.yml', 'cargo.toml', '.cargo', 'go.mod', 'go.work',
  'gemfile', '*.gemspec', 'composer.json', 'pom.xml', '.mvn', '*.gradle', '*.gradle.kts', 'gradle.properties',
  'gradle/wrapper', 'build.sbt', 'mix.exs', 'rebar.config', 'pubspec.yaml', 'package.swift', 'podfile', '*.csproj',
  '*.fsproj', '*.vbproj', '*.vcxproj', '*.sln', '*.slnx', '*.props', '*.targets', 'packages.config', 'nuget.config',
  '*.cabal', 'stack.yaml', 'dune-project', 'project.clj', 'deps.edn', 'conanfile.*', 'vcpkg.json', 'flake.nix',
  'default.nix', 'shell.nix',
]

const LOCKFILES = [
  '*.lock', '*.lockb', 'package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'packages.lock.json', 'go.sum',
  'go.work.sum', 'package.resolved', 'gradle.lockfile',
]

/** Programs that people and CI start run what these say. */
const BUILDS_AND_TASKS = [
  'makefile', 'gnumakefile', 'makefile.*', '*.mk', 'cmakelists.txt', '*.cmake', 'meson.build', 'build.ninja',
  'configure', 'configure.ac', 'build.bazel', 'workspace.bazel', 'module.bazel', '*.bzl', '.bazelrc', 'build.xml',
  'build.rs', 'build.zig', 'gradlew', 'gradlew.bat', 'mvnw', 'mvnw.cmd', 'justfile', '.justfile', 'taskfile.*',
  'rakefile', 'magefile.go', 'procfile', 'vagrantfile', 'tox.ini', 'noxfile.py', 'conftest.py', 'dockerfile',
  'dockerfile.*', '*.dockerfile', 'containerfile', 'docker-compose.*', 'compose.yml', 'compose.yaml', 'turbo.json',
  'nx.json', 'gulpfile.*', 'gruntfile.*', '*.config.js', '*.config.cjs', '*.config.mjs', '*.config.ts',
  '*.config.cts', '*.config.mts', 'karma.conf.*', '.babelrc', '.babelrc.*', '.eslintrc', '.eslintrc.*',
  '.prettierrc', '.prettierrc.*', '.lintstagedrc', '.lintstagedrc.*', '.husky', 'lefthook.yml', '.lefthook.yml',
  '.pre-commit-config.yaml',
]

/** Besides the names that a wide pattern does not write. */
const EDITORS_AND_SHELLS = [
  '.devcontainer', '.helix', '.vim', '.nvim', '*.sublime-project', '.tool-versions', 'mise.toml', '.mise.toml',
  '.direnvrc', '.inputrc', '.tmux.conf', '.gitconfig',
]

/** What this host keeps from tools. */
const OWN = ['.bulkheadignore']

const PLACES = [...CI, ...MANIFESTS, ...LOCKFILES, ...BUILDS_AND_TASKS, ...EDITORS_AND_SHELLS, ...OWN]
  .map((path) => path.split('/'))
/** Most names are not patterns, and are looked up at once. */
const PLAIN: ReadonlySet<string> = new Set(PLACES.flatMap((place) => place.length === 1 ? place : []))
const REST = PLACES.filter((place) => place.length > 1 || place[0]!.includes('*'))

/**
 * Whether an answer for a folder does not cover a file: it decides what other programs run, or holds credentials. Such
 * a file needs an answer of its own. In an absolute path; names up to `root` are free.
 */
export function isHeldBack(path: string, root: string): boolean {
  const isNamed = (name: string) => mustBeNamed(name) || PLAIN.has(name)
  return placeIndex(looseSegments(path), looseSegments(root).length, isNamed, REST, matchSegment) >= 0
    || SENSITIVE.find(path, root) !== undefined
}
