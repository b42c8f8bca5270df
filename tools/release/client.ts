import { join, relative } from 'node:path'
import { scriptOptions } from '../../src/cli/script-options.ts'
import { buildClient, packClient } from './build-client.ts'

scriptOptions('client', {})
const root = join(import.meta.dirname, '..', '..')
const folder = join(root, 'dist/client')
await buildClient(root, folder)
const archive = await packClient(folder, join(root, 'dist'))
console.log(`${relative(root, archive)} has what to publish: npm publish ${relative(root, archive)}`)
