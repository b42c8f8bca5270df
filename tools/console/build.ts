import { scriptOptions } from '../../src/cli/script-options.ts'
import { buildConsole } from './bundle.ts'

// npm run build: the pages of the console, unless their bundle is up to date. `npm start` runs it, too.

scriptOptions('build', {})
console.log((await buildConsole()) ? 'console: built' : 'console: up to date')
